/**
 * An address of mail as it is compared. Only the letters of ASCII are folded: in Unicode, the Kelvin sign U+212A would
 * become a k, which is in another mailbox's address.
 */
export const foldAddress = (address: string): string =>
  address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
