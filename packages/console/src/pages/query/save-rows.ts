/** Saves rows as a file, and says what is in it. */

import { type Downloaded, type DownloadRequest, download } from '../../state/download.ts';
import { type Ending, limitIn } from '../../state/rows/stream.ts';
import { bytes, counted } from '../../ui/format.ts';

/** Resolves to what to tell the person. `rowsOf` is what made the rows, if it is not what the page shows. */
export async function saveRows(request: DownloadRequest, rowsOf: string | undefined): Promise<string> {
  const file = await download(request);
  return file === undefined ? 'Cancelled the download.' : fileWords(file, rowsOf);
}

function fileWords({ bytes: size, ending }: Downloaded, rowsOf: string | undefined): string {
  const of = rowsOf === undefined ? '' : ` of ${rowsOf}`;
  return `Downloaded ${bytes(size)}${of}${cutWords(ending)}.`;
}

function cutWords(ending: Ending): string {
  if (ending.moreResults) return '; the procedure returned further results, which the file lacks';
  if (!ending.truncated) return '';
  return `; the file has only the first ${counted(ending.rows ?? 0, 'row')}: ${limitIn(ending)}`;
}
