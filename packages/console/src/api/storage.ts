/**
 * What the browser keeps for the console. It can refuse that, by a setting or because it has no room: then values stay in
 * the memory of the tab, and other tabs hear nothing.
 */

/** More characters than a key has. */
const trialLength = 200;
const trialName = 'datahub.trial';

export class KeptValues {
  readonly #open: () => Storage;
  /** What the browser did not keep. */
  readonly #inMemory = new Map<string, string>();

  constructor(open: () => Storage) {
    this.#open = open;
  }

  get(name: string): string | null {
    return this.#inMemory.get(name) ?? this.#try((storage) => storage.getItem(name)) ?? null;
  }

  /** Returns false if the browser does not keep it. */
  set(name: string, value: string): boolean {
    this.remove(name);
    const isKept = this.#try((storage) => storage.setItem(name, value) ?? true) !== undefined;
    if (!isKept) this.#inMemory.set(name, value);
    return isKept;
  }

  remove(name: string): void {
    this.#inMemory.delete(name);
    this.#try((storage) => storage.removeItem(name));
  }

  /** False if the browser keeps nothing now. */
  keeps(): boolean {
    const text = 'x'.repeat(trialLength);
    const kept = this.#try((storage) => {
      storage.setItem(trialName, text);
      return storage.getItem(trialName) === text;
    });
    this.remove(trialName);
    return kept === true;
  }

  #try<T>(use: (storage: Storage) => T): T | undefined {
    try {
      return use(this.#open());
    } catch {
      return undefined;
    }
  }
}

/** Until the tab is closed. */
export const ofTab = new KeptValues(() => sessionStorage);
/** In all tabs, until the person deletes it. */
export const ofBrowser = new KeptValues(() => localStorage);

/**
 * Between the tabs of this hub. Only pages of the same origin hear each other; a hub below another path is another hub.
 * Undefined if the browser has none.
 */
export function openChannel(name: string): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(`${name} ${new URL('.', document.baseURI).pathname}`);
  } catch {
    return undefined;
  }
}
