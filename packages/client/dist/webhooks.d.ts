/** For the receiver of a webhook: whether the hub sent it (Standard Webhooks 1.0). Needs only the standards of the web. */
import type { Json } from './values.ts';
/** A request as `node:http`, `fetch` and workers have it. */
export interface WebhookRequest {
    headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
    /** As it arrived: JSON that was parsed and written again has other bytes. */
    body: string | Uint8Array;
}
export interface WebhookEvent {
    /** The same in each attempt: ignore an id that you have seen. */
    id: string;
    type: string;
    /** When it happened. */
    timestamp: string;
    data: Record<string, Json>;
}
/** The request is not from the holder of the secret, or is too old. Answer with 400. */
export declare class WebhookError extends Error {
    readonly name = "WebhookError";
}
/** Returns the event of a request that was signed with the secret, `whsec_…`. Throws a `WebhookError` otherwise. */
export declare function verifyWebhook(secret: string, request: WebhookRequest): Promise<WebhookEvent>;
