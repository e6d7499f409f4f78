/** Origins of web pages, as browsers send them in the header `Origin`. */

/** For JSON Schema: what resembles an origin. `isOrigin` decides. */
export const originPattern = '^https?://[^/?#\\s]+$';

/** Browsers write the host in lower case and ASCII, and leave out a default port. */
const shape = /^https?:\/\/([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d+)?$/;

/** False for what no browser sends, such as a wildcard or an origin with capital letters. */
export const isOrigin = (text: string): boolean => shape.test(text) && URL.parse(text)?.origin === text;

/** The origin that the text probably means, for an error message. */
export function nearestOrigin(text: string): string {
  const { origin } = URL.parse(text) ?? { origin: '' };
  return isOrigin(origin) ? origin : 'https://shop.example';
}
