/** What callers are shown of a secret: a short lead and always eight asterisks, so that its length is not told. */

const stars = '*'.repeat(8);

function lead(text: string, characters: number): string {
  return [...text].slice(0, characters).join('');
}

/** The first two characters; one if there are four or fewer. */
export function maskUser(user: string): string {
  return lead(user, [...user].length <= 4 ? 1 : 2) + stars;
}

/** The first character; none if there are fewer than four. */
export function maskPassword(password: string): string {
  return lead(password, [...password].length < 4 ? 0 : 1) + stars;
}

/** A private key shows nothing. */
export function maskKey(): string {
  return stars;
}

/** True for a text that only a mask looks like: at most two characters and exactly eight asterisks. */
export function looksLikeMask(text: string): boolean {
  const characters = [...text];
  if (characters.length < 8 || characters.length > 10) return false;
  const tail = characters.slice(-8);
  return tail.every((character) => character === '*') && !characters.slice(0, -8).includes('*');
}
