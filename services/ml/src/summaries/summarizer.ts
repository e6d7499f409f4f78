/** PORT: who writes a summary. The extractive one always can; a configured model may come first. */

export interface SummaryRequest {
  /** One inner array a document, its strings the passages. */
  documents: string[][];
  sentences?: number | undefined;
  maxWords?: number | undefined;
  /** BCP 47. */
  language?: string | undefined;
}

export interface Summary {
  generated: string;
  /** `extractive`, or the name of the model. */
  generator: string;
}

export interface SummaryCaller {
  accountId: string;
  signal: AbortSignal;
}

export interface Summarizer {
  /** Rejects with VALIDATION (no text), TOO_LARGE, RATE_LIMITED (the account's queue is full), or UNAVAILABLE (time up). */
  summarize(request: SummaryRequest, caller: SummaryCaller): Promise<Summary>;
  close(): Promise<void>;
}
