/** The lists of `Accept` and `Accept-Encoding` (RFC 9110, 12.4.2). */

export interface Weighted {
  weight: number;
  /** The place in the list; the first is 0. */
  place: number;
}

/** The weight of each name, in lower case; 1 if it has none. The first of equal names counts. Linear in the length. */
export function readWeights(header: string): Map<string, Weighted> {
  const weights = new Map<string, Weighted>();
  for (const [place, part] of header.toLowerCase().split(',').entries()) {
    const [name = '', ...parameters] = part.split(';').map((one) => one.trim());
    const weight = parameters.map((one) => /^q=([\d.]+)$/.exec(one)?.[1]).find((q) => q !== undefined);
    if (!weights.has(name)) weights.set(name, { weight: Number(weight ?? 1), place });
  }
  return weights;
}
