/** Origins of pages, as browsers send them in the header `Origin`. */

/** Letters of a host are lower-case and ASCII there, and a default port is left out. */
const shape = /^https?:\/\/([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d+)?$/;

/** False for what no browser sends, such as a wildcard or an origin with capitals. */
export const isOrigin = (text: string): boolean => shape.test(text) && URL.parse(text)?.origin === text;

/** The nearest origin that a browser sends, as a hint. */
export function nearestOrigin(text: string): string {
  const { origin } = URL.parse(text) ?? { origin: '' };
  return isOrigin(origin) ? origin : 'https://shop.example';
}
