/** Drops answers that are older than one that has arrived. */

/**
 * Call the result when something is read, and what it returns when the answer arrives: false if the answer to a later
 * reading has arrived already.
 */
export function createAnswerOrder(): () => () => boolean {
  let [asked, arrived] = [0, 0];
  return () => {
    const mine = ++asked;
    return () => {
      if (mine < arrived) return false;
      arrived = mine;
      return true;
    };
  };
}
