# Lesson 1 in base R. Matrices only: torch's leading axes would be a loop around these functions.

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

# cell: one-score-by-hand
learning <- tokens["learning", ]  # d numbers
products <- learning * tokens["I", ]  # d numbers
round(products, 4)
#> [1] 0.2264 0.7262 0.3602
round(sum(products), 4)
#> [1] 1.3127

# cell: score
score <- function(query, key) {
  # Row by row, the d numbers of a key meet those of the query and are added up.
  drop(key %*% query)  # T x d times d -> T numbers
}

# cell: scores-of-learning
scores <- score(learning, tokens)  # T numbers
round(scores, 4)
#>        I       am learning     this
#>   1.3127   1.1213   1.5807   1.3343

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

# cell: weights-of-learning
scores <- score(learning, tokens)  # T numbers
weights <- softmax(scores)  # T numbers
round(weights, 4)
#>        I       am learning     this
#>   0.2407   0.1987   0.3146   0.2459
round(c(weights["learning"] / weights["am"], exp(scores["learning"] - scores["am"])), 4)
#> learning learning
#>   1.5832   1.5832

# cell: context_vector
context_vector <- function(weights, value) {
  # Every value in its share, added up over the tokens.
  drop(weights %*% value)  # T times T x d_v -> d_v numbers
}

# cell: context-of-learning
context <- context_vector(weights, tokens)  # d numbers
round(rbind(largest = apply(tokens, 2, max), context, smallest = apply(tokens, 2, min)), 4)
#>            [,1]   [,2]   [,3]
#> largest  0.9593 0.9346 0.9408
#> context  0.5165 0.7774 0.6536
#> smallest 0.1332 0.3904 0.3829

# cell: scores-in-a-loop
table <- t(sapply(words, function(word) score(tokens[word, ], tokens)))  # T_q x T_k
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
  weights <- softmax(attention_scores(query, key))  # T_q x T_k, each row sums to 1
  list(output = weights %*% value, weights = weights)  # T_q x d_v and T_q x T_k
}

# cell: mirror-question
scores <- attention_scores(tokens, tokens)
round(c(scores["I", "this"], scores["this", "I"]), 4)
#> [1] 1.1999 1.1999

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
round(query["learning", ], 4)
#> [1] 1.6442 1.0264
round(score(query["learning", ], key), 4)
#>        I       am learning     this
#>   2.2888   2.1945   2.2514   1.7783
scores <- attention_scores(query, key)  # T x T
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
