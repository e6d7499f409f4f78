/** Ajv's findings → faults with a pointer each, in words a caller understands. */

import { type Fault, HubError } from '@datahub/service-kit/error';

interface Finding {
  instancePath: string;
  keyword: string;
  message?: string;
  params: Record<string, unknown>;
}

const faultsMax = 50;

export function toValidationError(findings: Finding[], where: string): HubError {
  const prefix = where === 'body' ? '' : `${where}`;
  const faults = dedupe(findings.map((finding) => toFault(finding, prefix))).slice(0, faultsMax);
  const [first] = faults;
  const more = faults.length > 1 ? `, and ${faults.length - 1} more` : '';
  const at = first?.pointer === '' ? 'The body' : first?.pointer;
  return new HubError('VALIDATION', `${at} ${first?.detail}${more}.`, { errors: faults });
}

function toFault({ instancePath, keyword, message, params }: Finding, prefix: string): Fault {
  const at = `${prefix}${instancePath}`;
  if (keyword === 'required') return { pointer: `${at}/${params.missingProperty}`, detail: 'is missing' };
  if (keyword === 'additionalProperties') {
    return {
      pointer: `${at}/${escapePointer(String(params.additionalProperty))}`,
      detail: 'is not known here',
    };
  }
  if (keyword === 'enum')
    return { pointer: at, detail: `must be one of ${(params.allowedValues as unknown[]).join(', ')}` };
  return { pointer: at, detail: message ?? 'does not fit' };
}

/** RFC 6901; a member's name is the caller's own, shortened so that the answer stays small. */
function escapePointer(name: string): string {
  return name.slice(0, 100).replaceAll('~', '~0').replaceAll('/', '~1');
}

function dedupe(faults: Fault[]): Fault[] {
  const seen = new Set<string>();
  return faults.filter(({ pointer, detail }) => {
    const key = `${pointer} ${detail}`;
    return !seen.has(key) && seen.add(key);
  });
}
