"""The steps of Rounded after the labels: the centre of V, when this lab's own proof holds, how the answer is chosen."""
