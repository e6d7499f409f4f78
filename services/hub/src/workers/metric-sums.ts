/**
 * One text for Prometheus from the texts of several processes. Metrics of the hub (`datahub_…`) are summed, apart from
 * times of what all processes see. Metrics of Node get a label `process`, because sums of start times or delays mean
 * nothing.
 */

export interface MetricSums {
  /** Replaces what the process reported before. */
  read(process: string, text: string): void;
  /** Keeps the counters of a process that has ended, so that no sum falls, and drops its other values. */
  ended(process: string): void;
  render(): string;
}

interface Family {
  type: string;
  help: string | undefined;
  /** By name and labels, as they are written. */
  samples: Map<string, number>;
}

type Families = Map<string, Family>;

const summedPrefix = 'datahub_';
/** Of the one oldest tick or delivery, of one certificate and of one store, each process tells the same. */
const joined: Readonly<Record<string, (one: number, other: number) => number>> = {
  datahub_watch_lag_seconds: Math.min,
  datahub_delivery_lag_seconds: Math.min,
  datahub_certificate_not_after_seconds: Math.min,
  datahub_store_check_seconds: Math.max,
};
const plus = (one: number, other: number) => one + other;
const sample = /^([A-Za-z_:][\w:]*)(\{.*\})? (\S+)$/;
const suffix = /_(bucket|sum|count)$/;

export function createMetricSums(): MetricSums {
  const current = new Map<string, Families>();
  const kept: Families = new Map();
  return {
    read: (process, text) => void current.set(process, parse(text)),
    ended: (process) => {
      const last = current.get(process) ?? new Map();
      current.delete(process);
      for (const [name, family] of last) {
        if (name.startsWith(summedPrefix) && family.type !== 'gauge') addTo(kept, name, family);
      }
    },
    render: () => {
      const all: Families = new Map();
      for (const [name, family] of kept) addTo(all, name, family);
      for (const [process, families] of current) {
        for (const [name, family] of families)
          addTo(all, name, name.startsWith(summedPrefix) ? family : labelled(family, process));
      }
      return [...all].map(([name, family]) => write(name, family)).join('');
    },
  };
}

/** Lines that are no samples of a known family, such as comments, are left out. */
function parse(text: string): Families {
  const families: Families = new Map();
  const helps = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, keyword, subject = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (keyword === 'HELP') helps.set(subject, rest);
    // Several services of one process have families of the same name.
    if (keyword === 'TYPE' && !families.has(subject))
      families.set(subject, { type: rest, help: helps.get(subject), samples: new Map() });
    if (keyword !== undefined) continue;
    const [, name = '', labels = '', value] = sample.exec(line) ?? [];
    const family = families.get(name) ?? families.get(name.replace(suffix, ''));
    family?.samples.set(name + labels, Number(value));
  }
  return families;
}

function addTo(all: Families, name: string, { type, help, samples }: Family): void {
  const family = all.get(name) ?? { type, help, samples: new Map() };
  all.set(name, family);
  const join = joined[name] ?? plus;
  for (const [key, value] of samples) {
    const before = family.samples.get(key);
    family.samples.set(key, before === undefined ? value : join(before, value));
  }
}

function labelled({ samples, ...family }: Family, process: string): Family {
  const label = `process="${process}"`;
  const rename = (key: string) => (key.endsWith('}') ? `${key.slice(0, -1)},${label}}` : `${key}{${label}}`);
  return { ...family, samples: new Map([...samples].map(([key, value]) => [rename(key), value])) };
}

function write(name: string, { type, help, samples }: Family): string {
  const head = [...(help === undefined ? [] : [`# HELP ${name} ${help}`]), `# TYPE ${name} ${type}`];
  return `${[...head, ...[...samples].map(([key, value]) => `${key} ${value}`)].join('\n')}\n`;
}
