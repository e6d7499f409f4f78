/** What the page and the editor, which is loaded when it is first needed, say to each other. */

import type { CompletionAnswer } from '../../state/schema/protocol.ts';

export interface EditorOptions {
  /** A shadow root: style sheets that are made there need no exception in the content security policy. */
  parent: ShadowRoot;
  text: string;
  selection: { anchor: number; head: number };
  engine: string;
  label: string;
  onChange(text: string): void;
  onRun(): void;
  onSave(): void;
  complete(text: string, at: number): Promise<CompletionAnswer | undefined>;
  /** Names that are offered after a colon. */
  variables(): string[];
}

export interface Fault {
  line: number;
  column: number;
  message: string;
}

export interface EditorHandle {
  /** Does nothing where the text is the same. */
  setText(text: string): void;
  setEngine(engine: string): void;
  setFaults(faults: Fault[]): void;
  focus(): void;
  close(): void;
}

export interface EditorModule {
  openEditor(options: EditorOptions): EditorHandle;
}

export interface FormatModule {
  /** Throws if the formatter does not understand the statement. */
  formatStatement(text: string, engine: string): string;
}
