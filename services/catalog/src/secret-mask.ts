/** Masks for secrets: a short prefix and always eight asterisks, so that the mask does not reveal the length. */

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

/** True for a text with the form of a mask: at most two characters, then exactly eight asterisks. */
export function looksLikeMask(text: string): boolean {
  const characters = [...text];
  if (characters.length < 8 || characters.length > 10) return false;
  const tail = characters.slice(-8);
  return tail.every((character) => character === '*') && !characters.slice(0, -8).includes('*');
}
