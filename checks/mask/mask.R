# Lesson 3 in base R. Matrices only: torch's leading axes would be a loop around these functions.

# cell: setup
softmax <- function(scores) {  # lesson 1's, of a vector or of each row of a matrix
  rows <- if (is.matrix(scores)) scores else t(scores)
  exponentials <- exp(rows - apply(rows, 1, max))
  weights <- exponentials / rowSums(exponentials)
  if (is.matrix(scores)) weights else drop(weights)
}

# cell: tokens
words <- c("I", "am", "learning", "this")
tokens <- matrix(
  c(0.88226926, 0.91500396, 0.38286376,
    0.95930564, 0.39044821, 0.60089535,
    0.25657249, 0.79364133, 0.94077146,
    0.13318592, 0.93459809, 0.59357965),
  nrow = 4, byrow = TRUE, dimnames = list(words, NULL)
)  # T x d: T = 4 tokens, d = 3 numbers each
scores <- tokens %*% t(tokens) / sqrt(3)  # T x T, scaled
weights <- softmax(scores)  # T x T
round(weights, 4)
#>               I     am learning   this
#> I        0.3011 0.2491   0.2323 0.2176
#> am       0.2818 0.2818   0.2353 0.2011
#> learning 0.2454 0.2197   0.2864 0.2485
#> this     0.2549 0.2082   0.2755 0.2614

# cell: leak
leak <- function(attend, x) {  # how far each row of the output moves when the last token is replaced
  other <- x
  other[nrow(x), ] <- 1 - x[nrow(x), ]  # any other vector would do
  apply(abs(attend(other) - attend(x)), 1, max)
}
without_mask <- function(x) softmax(x %*% t(x) / sqrt(3)) %*% x  # T x d
round(leak(without_mask, tokens), 4)
#>        I       am learning     this
#>   0.1757   0.1901   0.1732   0.2462

# cell: by-hand
by_hand <- matrix(
  c(TRUE, FALSE, FALSE, FALSE,  # I: sees itself
    TRUE, TRUE, FALSE, FALSE,  # am: sees I am
    TRUE, TRUE, TRUE, FALSE,  # learning: sees I am learning
    TRUE, TRUE, TRUE, TRUE),  # this: sees everything so far
  nrow = 4, byrow = TRUE
)

# cell: causal_mask
causal_mask <- function(seq_len) {
  positions <- seq_len(seq_len)  # R tells a function from a number of the same name
  outer(positions, positions, ">=")  # row i sees the columns up to i
}

# cell: padding-leaks
embedding <- rbind(tokens[1:4, ],  # one vector for each id, from 0
  c(0.86940444, 0.56771529, 0.74109405),
  c(0.42940450, 0.88544291, 0.57390445)
)
for (padding in c(0, 1, 5)) {
  sentence <- embedding[c(1, 2, 5, rep(0, padding)) + 1, ]  # I am here [PAD] ...; R counts from 1
  output <- without_mask(sentence)
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

# cell: empty-row
nothing <- rep(-Inf, 3)
softmax(nothing)
#> [1] NaN NaN NaN
round(softmax(rep(-1e9, 3)), 4)
#> [1] 0.3333 0.3333 0.3333

# cell: masked_softmax
masked_softmax <- function(scores, mask) {
  scores[!mask] <- -Inf
  weights <- softmax(scores)
  weights[!mask] <- 0  # a row with nothing to attend to was NaN
  weights
}

# cell: masked_attention
masked_attention <- function(query, key = query, value = key, mask = NULL) {
  scores <- query %*% t(key) / sqrt(ncol(query))  # T_q x T_k
  weights <- if (is.null(mask)) softmax(scores) else masked_softmax(scores, mask)
  list(output = weights %*% value, weights = weights)
}

# cell: picture
causal_weights <- masked_attention(tokens, mask = causal_mask(4))$weights
left_weights <- masked_attention(tokens, mask = left_padded)$weights
round(causal_weights, 4)
#>               I     am learning   this
#> I        1.0000 0.0000   0.0000 0.0000
#> am       0.5000 0.5000   0.0000 0.0000
#> learning 0.3265 0.2923   0.3811 0.0000
#> this     0.2549 0.2082   0.2755 0.2614
round(left_weights, 4)
#>          I     am learning   this
#> I        0 0.0000   0.0000 0.0000
#> am       0 1.0000   0.0000 0.0000
#> learning 0 0.4341   0.5659 0.0000
#> this     0 0.2794   0.3697 0.3508

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
moved <- leak(function(x) masked_attention(x, mask = causal_mask(4))$output, tokens)
round(moved, 4)
#>        I       am learning     this
#>   0.0000   0.0000   0.0000   0.2462
