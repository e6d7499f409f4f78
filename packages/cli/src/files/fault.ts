/** A fault of a file, with its place. */

import { visible } from '../screen.ts';

export interface Fault {
  file: string;
  line: number;
  column: number;
  detail: string;
}

export const toLine = ({ file, line, column, detail }: Fault): string =>
  `${visible(file)}:${line}:${column}: ${visible(detail)}`;
