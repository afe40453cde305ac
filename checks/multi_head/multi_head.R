# Lesson 5 in base R. A module is a list of matrices there, and a function that takes it first.

# cell: setup
softmax <- function(scores) {  # lesson 1's, of each row of a matrix
  exponentials <- exp(scores - apply(scores, 1, max))
  exponentials / rowSums(exponentials)
}
linear <- function(x, weight) x %*% t(weight)  # T x E times E x D -> T x D
AttentionHead <- function(weights, query, key = query, value = key, mask = NULL) {  # lesson 4's
  projected_value <- linear(value, weights$value)  # T_k x D
  scores <- linear(query, weights$query) %*% t(linear(key, weights$key)) / sqrt(nrow(weights$query))
  if (!is.null(mask)) scores[!mask] <- -Inf  # T_q x T_k
  shares <- softmax(scores)
  if (!is.null(mask)) shares[!mask] <- 0
  list(output = shares %*% projected_value, weights = shares)
}

# cell: one-mix-measured
number <- c(Ann = 2, Bob = 6, Cid = 3, Dot = 4, Eve = 0)
mixes <- outer(0.75 * number, 0.25 * number, "+")  # payer x payee
mixes
#>      Ann  Bob  Cid  Dot  Eve
#> Ann 2.00 3.00 2.25 2.50 1.50
#> Bob 5.00 6.00 5.25 5.50 4.50
#> Cid 2.75 3.75 3.00 3.25 2.25
#> Dot 3.50 4.50 3.75 4.00 3.00
#> Eve 0.50 1.50 0.75 1.00 0.00
which(mixes == 3, arr.ind = TRUE)  # who paid whom where the mix is 3
#>     row col
#> Ann   1   2
#> Cid   3   3
#> Dot   4   5
length(unique(c(mixes)))
#> [1] 19

# cell: two-mixes-measured
weights <- rbind(c(0.75, 0.25), c(0.25, 0.75))  # H x T_k: a row for each head
found <- drop(weights %*% number[c("Ann", "Bob")])  # H numbers: a mix for each head
unmix <- solve(weights)  # 2 x H
found
#> [1] 3 5
unmix
#>      [,1] [,2]
#> [1,]  1.5 -0.5
#> [2,] -0.5  1.5
drop(unmix %*% found)
#> [1] 2 6

# cell: MultiHeadAttention
# weights: list(heads = list of heads, output), the output's E x E
MultiHeadAttention <- function(weights, query, key = query, value = key, mask = NULL) {
  results <- lapply(weights$heads, AttentionHead, query = query, key = key, value = value, mask = mask)
  joined <- do.call(cbind, lapply(results, `[[`, "output"))  # T_q x (H * D) = T_q x E
  average <- Reduce(`+`, lapply(results, `[[`, "weights")) / length(results)  # T_q x T_k
  list(output = linear(joined, weights$output), weights = average)
}

# cell: parameter_count
parameter_count <- function(embed_dim, num_heads, bias) {
  # However many heads there are: stacked, their matrices are square.
  outputs <- 4 * embed_dim  # query, key and value of all the heads, and the output projection
  outputs * embed_dim + bias * outputs  # TRUE counts as 1
}

# cell: count-measured
parameter_count(768, 12, TRUE)  # attention in one layer of GPT-2 small
#> [1] 2362368
parameter_count(12288, 96, TRUE)  # and in one of GPT-3
#> [1] 604028928

# cell: three-heads
words <- c("I", "am", "learning", "this")
tokens <- matrix(
  c(0.88226926, 0.91500396, 0.38286376,
    0.95930564, 0.39044821, 0.60089535,
    0.25657249, 0.79364133, 0.94077146,
    0.13318592, 0.93459809, 0.59357965),
  nrow = 4, byrow = TRUE, dimnames = list(words, NULL)
)  # T x E: 4 tokens, 3 numbers each
directions <- rbind(c(2, -1, 2), c(2, 2, -1), c(-1, 2, 2)) / 3  # H x E, at right angles
three_heads <- lapply(1:3, function(index) {
  direction <- directions[index, , drop = FALSE]  # 1 x E
  list(query = direction, key = direction, value = direction)
})
scores <- lapply(three_heads, function(head) linear(tokens, head$query) %*% t(linear(tokens, head$key)))
round(t(sapply(scores, function(table) table["learning", ])), 4)  # a row for each head
#>           I     am learning   this
#> [1,] 0.2873 0.4856   0.2848 0.0923
#> [2,] 0.4138 0.2704   0.1494 0.1987
#> [3,] 0.6116 0.3653   1.1465 1.0433
total <- Reduce(`+`, scores)  # T x T
round(total["learning", ], 4)
#>        I       am learning     this
#>   1.3127   1.1213   1.5807   1.3343

# cell: three-heads-picture
results <- lapply(three_heads, AttentionHead, query = tokens)  # output T x 1 and weights T x T each
by_hand <- do.call(cbind, lapply(results, `[[`, "output"))  # T x 3
round(by_hand, 4)
#>            [,1]   [,2]   [,3]
#> I        0.5753 0.7433 0.7885
#> am       0.6002 0.7163 0.7690
#> learning 0.5750 0.6941 0.8285
#> this     0.5505 0.7030 0.8210
