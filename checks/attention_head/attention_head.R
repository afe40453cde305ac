# Lesson 4 in base R. A module is a list of matrices there, and a function that takes it first.

# cell: setup
softmax <- function(scores) {  # lesson 1's, of each row of a matrix
  exponentials <- exp(scores - apply(scores, 1, max))
  exponentials / rowSums(exponentials)
}

# cell: linear
weight <- matrix(c(1, 0, 1, 0, 2, 0), nrow = 2, byrow = TRUE)  # from 3 numbers to 2
linear <- function(x, weight) x %*% t(weight)  # T x E times E x D -> T x D
linear(t(c(1, 2, 3)), weight)
#>      [,1] [,2]
#> [1,]    4    4

# cell: AttentionHead
# weights: list(query, key, value), each D x E, as nn.Linear keeps them
AttentionHead <- function(weights, query, key = query, value = key, mask = NULL) {
  # The key's default first, because the value's default is the key; then each by its own matrix.
  projected_value <- linear(value, weights$value)  # T_k x D
  scores <- linear(query, weights$query) %*% t(linear(key, weights$key)) / sqrt(nrow(weights$query))
  if (!is.null(mask)) scores[!mask] <- -Inf  # T_q x T_k
  shares <- softmax(scores)
  if (!is.null(mask)) shares[!mask] <- 0  # a row with nothing to attend to was NaN
  list(output = shares %*% projected_value, weights = shares)
}

# cell: by-hand
POSITIONS <- 6
words <- c("I", "am", "learning", "this")
with_positions <- function(word_ids) {  # a 1 for the word, a 1 for the position: T x (4 + 6)
  cbind(diag(4)[word_ids, ], diag(POSITIONS)[seq_along(word_ids), ])
}
only_position <- cbind(matrix(0, POSITIONS, 4), diag(POSITIONS))  # D x E
one_back <- rbind(only_position[-1, ], 0)  # row j is that of position j + 1; no token wants the last position
by_hand <- list(query = 12 * one_back, key = only_position, value = only_position)
large <- exp(12 / sqrt(POSITIONS))  # the exponential of the one score that is not 0
round(large / (large + 5), 2)
#> [1] 0.96
spoken <- c(4, 3, 2, 1, 2, 3)  # this learning am I am learning
weights <- AttentionHead(by_hand, with_positions(spoken))$weights
dimnames(weights) <- list(words[spoken], words[spoken])
round(weights, 2)
#>          this learning   am    I   am learning
#> this     0.17     0.17 0.17 0.17 0.17     0.17
#> learning 0.96     0.01 0.01 0.01 0.01     0.01
#> am       0.01     0.96 0.01 0.01 0.01     0.01
#> I        0.01     0.01 0.96 0.01 0.01     0.01
#> am       0.01     0.01 0.01 0.96 0.01     0.01
#> learning 0.01     0.01 0.01 0.01 0.96     0.01

# cell: thirds
qkv <- rbind(
  c(1, 0), c(0, 1),  # query
  c(2, 0), c(0, 2),  # key
  c(1, 1), c(1, -1)  # value
)
linear(t(c(1, 2)), qkv)
#>      [,1] [,2] [,3] [,4] [,5] [,6]
#> [1,]    1    2    2    4    3   -1

# cell: CausalSelfAttention
# weights: list(qkv, bias), 3E x E and 3E numbers; block_size is the longest text that it takes
CausalSelfAttention <- function(weights, x, block_size) {
  if (nrow(x) > block_size) {
    stop("a text of ", nrow(x), " tokens is longer than the block of ", block_size)
  }
  width <- ncol(x)
  fused <- sweep(linear(x, weights$qkv), 2, weights$bias, "+")  # T x 3E, the bias in every row
  query <- fused[, 1:width, drop = FALSE]
  key <- fused[, width + 1:width, drop = FALSE]
  value <- fused[, 2 * width + 1:width, drop = FALSE]
  scores <- query %*% t(key) / sqrt(width)  # T x T
  scores[outer(1:nrow(x), 1:nrow(x), "<")] <- -Inf  # the future: a column beyond the row
  shares <- softmax(scores)
  list(output = shares %*% value, weights = shares)
}
