# Lesson 3 in base R. Matrices only: torch's leading axes would be a loop around these functions.

# cell: setup
softmax <- function(scores) {  # lesson 1's, of a vector or of each row of a matrix
  rows <- if (is.matrix(scores)) scores else t(scores)
  exponentials <- exp(rows - apply(rows, 1, max))
  weights <- exponentials / rowSums(exponentials)
  if (is.matrix(scores)) weights else drop(weights)
}

# cell: three-places
row <- c(2, 1, 3)
proposals <- rbind(
  "no mask" = softmax(row),
  "weight set to 0" = softmax(row) * c(1, 1, 0),
  "score set to 0" = softmax(c(2, 1, 0)),
  "score set to -Inf" = softmax(c(2, 1, -Inf))
)
round(cbind(proposals, sum = rowSums(proposals)), 4)
#>                                           sum
#> no mask           0.2447 0.0900 0.6652 1.0000
#> weight set to 0   0.2447 0.0900 0.0000 0.3348
#> score set to 0    0.6652 0.2447 0.0900 1.0000
#> score set to -Inf 0.7311 0.2689 0.0000 1.0000

# cell: causal_mask
causal_mask <- function(seq_len) {
  positions <- seq_len(seq_len)  # R tells a function from a number of the same name
  outer(positions, positions, ">=")  # row i sees the columns up to i
}

# cell: masked_softmax
masked_softmax <- function(scores, mask) {
  scores[!mask] <- -Inf
  weights <- softmax(scores)
  weights[!mask] <- 0  # a row with nothing to attend to was NaN
  weights
}

# cell: leak
words <- c("I", "am", "learning", "this")
tokens <- matrix(
  c(0.88226926, 0.91500396, 0.38286376,
    0.95930564, 0.39044821, 0.60089535,
    0.25657249, 0.79364133, 0.94077146,
    0.13318592, 0.93459809, 0.59357965),
  nrow = 4, byrow = TRUE, dimnames = list(words, NULL)
)  # T x d: T = 4 tokens, d = 3 numbers each

leak <- function(attend, x, token = nrow(x)) {  # how far each row of the output moves when one token is replaced
  other <- x
  other[token, ] <- 1 - x[token, ]  # a clearly different vector
  apply(abs(attend(other) - attend(x)), 1, max)
}

# cell: leak-test
attend <- function(mask) {
  function(x) masked_softmax(x %*% t(x) / sqrt(ncol(x)), mask) %*% x  # T x d
}
for (mask in list(matrix(TRUE, 4, 4), causal_mask(4))) {
  print(round(t(sapply(4:2, function(token) leak(attend(mask), tokens, token))), 4))  # this, learning, am replaced
}
#>           I     am learning   this
#> [1,] 0.1757 0.1901   0.1732 0.2462
#> [2,] 0.1854 0.1941   0.2347 0.1965
#> [3,] 0.2000 0.2728   0.1929 0.1899
#>      I     am learning   this
#> [1,] 0 0.0000   0.0000 0.2462
#> [2,] 0 0.0000   0.2989 0.1965
#> [3,] 0 0.4334   0.2539 0.1899

# cell: empty-row
softmax_of_one <- function(scores, mask) {  # one query
  weights <- 0 * scores
  if (any(mask)) weights[mask] <- softmax(scores[mask])
  weights
}
round(softmax_of_one(row, c(TRUE, TRUE, FALSE)), 4)
#> [1] 0.7311 0.2689 0.0000
softmax_of_one(row, c(FALSE, FALSE, FALSE))
#> [1] 0 0 0
softmax(rep(-Inf, 3))
#> [1] NaN NaN NaN
round(softmax(rep(-1e9, 3)), 4)
#> [1] 0.3333 0.3333 0.3333

# cell: masked_attention
masked_attention <- function(query, key = query, value = key, mask = NULL) {
  scores <- query %*% t(key) / sqrt(ncol(query))  # T_q x T_k
  weights <- if (is.null(mask)) softmax(scores) else masked_softmax(scores, mask)
  list(output = weights %*% value, weights = weights)
}

# cell: picture
causal_weights <- masked_attention(tokens, mask = causal_mask(4))$weights
round(causal_weights, 4)
#>               I     am learning   this
#> I        1.0000 0.0000   0.0000 0.0000
#> am       0.5000 0.5000   0.0000 0.0000
#> learning 0.3265 0.2923   0.3811 0.0000
#> this     0.2549 0.2082   0.2755 0.2614

# cell: proof
output <- masked_attention(tokens, mask = causal_mask(4))$output  # T x d, all rows at once
for (length in 1:4) {
  cut_off <- masked_attention(tokens[1:length, , drop = FALSE])$output  # the sentence so far, no mask
  print(all.equal(cut_off[length, ], output[length, ]))
}
#> [1] TRUE
#> [1] TRUE
#> [1] TRUE
#> [1] TRUE

# cell: padding-leaks
embedding <- rbind(tokens[1:4, ],  # one vector for each id, from 0
  c(0.86940444, 0.56771529, 0.74109405),
  c(0.42940450, 0.88544291, 0.57390445)
)
for (padding in c(0, 1, 5)) {
  sentence <- embedding[c(1, 2, 5, rep(0, padding)) + 1, ]  # I am here [PAD] ...; R counts from 1
  output <- masked_attention(sentence)$output
  cat(padding, "padding tokens: output for 'I' is", round(output[1, ], 4), "\n")
}
#> 0 padding tokens: output for 'I' is 0.5743 0.6706 0.6992
#> 1 padding tokens: output for 'I' is 0.6584 0.7374 0.6128
#> 5 padding tokens: output for 'I' is 0.7753 0.8301 0.4927

# cell: padding_mask
# Of one sentence. R does not stretch a row, so it is written once for each query.
padding_mask <- function(token_ids, pad_id = 0) {
  matrix(token_ids != pad_id, length(token_ids), length(token_ids), byrow = TRUE)  # T x T
}

# cell: together
batch <- list(c(1, 2, 3, 4), c(1, 2, 5, 0))  # I am learning this, and I am here [PAD]
right_padded <- lapply(batch, function(token_ids) causal_mask(4) & padding_mask(token_ids))
left_padded <- causal_mask(4) & padding_mask(c(0, 1, 2, 5))  # [PAD] I am here
1 * right_padded[[2]]
#>      [,1] [,2] [,3] [,4]
#> [1,]    1    0    0    0
#> [2,]    1    1    0    0
#> [3,]    1    1    1    0
#> [4,]    1    1    1    0
1 * left_padded
#>      [,1] [,2] [,3] [,4]
#> [1,]    0    0    0    0
#> [2,]    0    1    0    0
#> [3,]    0    1    1    0
#> [4,]    0    1    1    1
