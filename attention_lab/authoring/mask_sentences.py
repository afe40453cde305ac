"""What goes wrong with a mask goes wrong in every lesson that has one: the sentences that they share."""

AFTER_THE_SOFTMAX = (
    "Masked after the softmax: hidden weights are 0, but they had already taken their share, so the rows "
    "of `weights` sum to less than 1. Hide the *scores*, before the softmax."
)
SCALED_UP_AFTERWARDS = (
    "Hidden scores take part in the softmax, and the visible weights are scaled up afterwards. Where a "
    "hidden score is much higher, or every key is hidden, nothing is left to scale up. Hide the *scores*, "
    "before the softmax."
)
HIDDEN_SCORES_ARE_ZERO = (
    "Hidden scores are set to 0 (or multiplied by 0), and a score of 0 is an ordinary score: exp(0) = 1, "
    "so hidden keys keep their weight. Only a score of minus infinity has an exponential of 0."
)
FILL_TURNED_ROUND = (
    "The fill before the softmax hides the visible scores, because its `~` is missing, and the hidden "
    "weights are cleared after it: nothing is left. Rows of weights are all zeros, or NaN where no key is "
    "hidden. Hide where `mask` is False both times."
)
EMPTY_ROW_IS_UNIFORM = (
    "A query with nothing to attend to gets equal weights on the hidden keys: where all its scores are the "
    "same -1e9, the softmax spreads evenly. Such a row of `weights` should be all zeros: clear its hidden "
    "entries after the softmax as well."
)
FIXED_LOW_SCORE = (
    "Hidden keys get a fixed low score, such as -1e4, but a visible key may have a score that low: then "
    "they share the weight. Only minus infinity is below every score. Also clear the hidden weights of "
    "empty rows."
)
SMALL_FILL = (
    "Hidden scores are replaced by a number such as -10 or -100, an ordinary score: hidden keys take some "
    "weight from the visible ones, and all of it where these have lower scores. Only minus infinity is "
    "below every score."
)
SMALL_FILL_CLEARED = (
    "Hidden scores are replaced by a number such as -10, an ordinary score. Clearing the hidden weights "
    "comes too late: they have taken their share, all of it where visible scores are lower. Only minus "
    "infinity is below every score."
)
MINUS_INFINITY_ADDED = (
    "The numbers are right, but the gradient of a query with nothing to attend to is NaN: -inf was "
    "*added* to the scores, and the backward pass goes straight through the NaN. Replace the hidden "
    "scores instead of adding to them."
)
ADDED_WITHOUT_CLEARING = (
    "-inf was added to hidden scores, and nothing is cleared: where every key is hidden, the weights and the "
    "gradient are NaN. Replace the hidden scores, and clear the hidden weights after the softmax."
)
ZERO_TIMES_INFINITY = (
    "With a mask every weight is NaN: the mask was multiplied with minus infinity and added, and 0 times "
    "minus infinity is not a number. Replace the hidden scores by minus infinity instead of adding to all."
)
ADDED_AS_NUMBERS = (
    "The mask was added to the scores as 0 and 1, which hides nothing. torch's own functions do that with a "
    "mask of floats, too: leave it boolean, and replace scores where it is False."
)
EXPONENTIALS_TOO_LARGE = (
    "Large scores give NaN: their exponentials are infinite, and infinity divided by infinity is not a "
    "number. Subtract each row's largest score first, or use a softmax that does."
)
