# Lesson 1 in base R. Matrices only: torch's leading axes would be a loop around these functions.

# cell: by-hand-numbers
values <- rbind(c(4, 0), c(0, 8), c(8, 4))  # T x d_v
scores <- c(2, 1, 3)  # T numbers
exponentials <- exp(scores)
weights <- exponentials / sum(exponentials)
round(rbind(exponentials, weights), 4)
#>                [,1]   [,2]    [,3]
#> exponentials 7.3891 2.7183 20.0855
#> weights      0.2447 0.0900  0.6652
drop(round(weights %*% values, 4))
#> [1] 6.3008 3.3812
round(c(weights[3] / weights[1], exp(scores[3] - scores[1])), 4)
#> [1] 2.7183 2.7183

# cell: tokens
words <- c("I", "am", "learning", "this")
tokens <- matrix(
  c(0.88226926, 0.91500396, 0.38286376,
    0.95930564, 0.39044821, 0.60089535,
    0.25657249, 0.79364133, 0.94077146,
    0.13318592, 0.93459809, 0.59357965),
  nrow = 4, byrow = TRUE
)  # T x d: T = 4 tokens, d = 3 numbers each
rownames(tokens) <- words
round(tokens, 4)
#>            [,1]   [,2]   [,3]
#> I        0.8823 0.9150 0.3829
#> am       0.9593 0.3904 0.6009
#> learning 0.2566 0.7936 0.9408
#> this     0.1332 0.9346 0.5936

# cell: scores-in-a-loop
table <- matrix(0, 4, 4, dimnames = list(words, words))  # T_q x T_k
for (row in 1:4) {
  for (column in 1:4) {
    table[row, column] <- sum(tokens[row, ] * tokens[column, ])
  }
}
round(table, 4)
#>               I     am learning   this
#> I        1.7622 1.4337   1.3127 1.1999
#> am       1.4337 1.4338   1.1213 0.8494
#> learning 1.3127 1.1213   1.5807 1.3343
#> this     1.1999 0.8494   1.3343 1.2435

# cell: attention_scores
attention_scores <- function(query, key) {
  query %*% t(key)  # T_q x d times d x T_k -> T_q x T_k
}

# cell: dot_product_attention
# R looks a default up when it is needed: the value falls back on whatever the key is by then.
dot_product_attention <- function(query, key = query, value = key) {
  exponentials <- exp(attention_scores(query, key))  # T_q x T_k
  weights <- exponentials / rowSums(exponentials)  # each row by its own sum
  list(output = weights %*% value, weights = weights)  # T_q x d_v and T_q x T_k
}

# cell: outputs-of-all
attended <- dot_product_attention(tokens)
output <- attended$output  # T x d
weights <- attended$weights  # T x T
round(output, 4)
#>            [,1]   [,2]   [,3]
#> I        0.6191 0.7634 0.5991
#> am       0.6395 0.7318 0.6090
#> learning 0.5165 0.7774 0.6536
#> this     0.5113 0.7897 0.6428
round(rbind(rowSums(weights), colSums(weights)), 4)
#>           I     am learning   this
#> [1,] 1.0000 1.0000   1.0000 1.0000
#> [2,] 1.1431 0.9296   1.0488 0.8784

# cell: softmax-overflows
for (scores in list(c(0, 1), c(1000, 1001))) {
  exponentials <- exp(scores)
  print(exponentials / sum(exponentials))
}
#> [1] 0.2689414 0.7310586
#> [1] NaN NaN

# cell: softmax
softmax <- function(scores) {
  rows <- if (is.matrix(scores)) scores else t(scores)  # a vector is one row
  # A vector meets a matrix from the top down: each row is lowered by its own maximum, and exp cannot overflow.
  exponentials <- exp(rows - apply(rows, 1, max))
  weights <- exponentials / rowSums(exponentials)  # each row by its own sum
  if (is.matrix(scores)) weights else drop(weights)
}

# cell: mirror-numbers
scores <- attention_scores(tokens, tokens)
round(c(scores["I", "this"], scores["this", "I"]), 4)
#> [1] 1.1999 1.1999
weights <- dot_product_attention(tokens)$weights
round(c(weights["I", "this"], weights["this", "I"]), 4)
#> [1] 0.1946 0.2569

# cell: project
project <- function(x, w_query, w_key, w_value) {
  # All three from x, each by a matrix of its own: T x E times E x width -> T x width.
  list(query = x %*% w_query, key = x %*% w_key, value = x %*% w_value)
}

# cell: projected-learning
w_query <- matrix(c(0.86940444, 0.56771529, 0.74109405, 0.42940450, 0.88544291, 0.57390445), 3, byrow = TRUE)
w_key <- matrix(c(0.26658005, 0.62744915, 0.26963168, 0.44136357, 0.29692084, 0.83168548), 3, byrow = TRUE)
w_value <- matrix(c(0.10531491, 0.26949483, 0.35881263, 0.19936377, 0.54719156, 0.00616044), 3, byrow = TRUE)
projected <- project(tokens, w_query, w_key, w_value)  # T x 2 each
query <- projected$query
key <- projected$key
value <- projected$value
round(query["learning", ], 4)
#> [1] 1.6442 1.0264
round(cbind(key, value), 4)
#>            [,1]   [,2]   [,3]   [,4]
#> I        0.5956 1.2759 0.6307 0.4225
#> am       0.5394 1.2740 0.5699 0.3401
#> learning 0.5617 1.2937 0.8266 0.2332
#> this     0.4637 0.9897 0.6742 0.2259
scores <- attention_scores(query, key)  # T x T
round(scores["learning", ], 4)
#>        I       am learning     this
#>   2.2888   2.1945   2.2514   1.7783
round(c(scores["I", "this"], scores["this", "I"]), 4)
#> [1] 1.9295 1.8376

# cell: why-lengths
lengths <- sqrt(rowSums(tokens^2))  # T numbers
unit_tokens <- tokens / lengths  # T x d, all of length 1
weights <- dot_product_attention(tokens)$weights
unit_weights <- dot_product_attention(unit_tokens)$weights
data.frame(
  length = round(lengths, 3),
  looks_most_at = words[apply(weights, 1, which.max)],
  with_lengths_of_1 = words[apply(unit_weights, 1, which.max)]
)
#>          length looks_most_at with_lengths_of_1
#> I         1.327             I                 I
#> am        1.197            am                am
#> learning  1.257      learning          learning
#> this      1.115      learning              this
