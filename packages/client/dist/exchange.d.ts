/** One request and its repeats: deadlines, aborts, retries. */
export interface Settings {
    /** Ends in a slash. */
    base: URL;
    key: string;
    token: (() => string | Promise<string>) | undefined;
    headers: Readonly<Record<string, string>>;
    fetch: typeof fetch;
    timeoutMs: number;
    retries: number;
    retryWaitMaxMs: number;
}
export interface Request {
    method: string;
    /** Relative to the hub, with the query string. */
    path: string;
    headers?: Record<string, string | undefined>;
    /** JSON text. */
    body?: string | undefined;
    signal?: AbortSignal | undefined;
    /** A repeat changes nothing that the first request did not. */
    repeatable: boolean;
}
/** A successful response whose body is still to be read. */
export interface Opened {
    response: Response;
    /** What a failed read of the body means. */
    toError(err: unknown): unknown;
    isRepeatable: boolean;
    /** Begins the deadline anew before a part of the body is awaited, and ends it while the caller is at work. */
    await(): void;
    pause(): void;
    /** Cancels what was not read. Called once, always. */
    close(): void;
}
/** Sends a request, again if that is safe, and reads the answer within the deadline of each attempt. */
export declare function exchange<T>(settings: Settings, request: Request, read: (response: Response) => Promise<T>): Promise<T>;
/** The same up to the body, which the caller streams. */
export declare const open: (settings: Settings, request: Request) => Promise<Opened>;
