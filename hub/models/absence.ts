import { fullName } from './model-name.ts';

export type PullProgress = {
  /** Ollama's status text: `pulling manifest`, `verifying sha256 digest`, finally `success`. */
  readonly status: string;
  /** Digest of the layer in transfer; undefined otherwise. */
  readonly digest: string | undefined;
  readonly totalBytes: number | undefined;
  readonly completedBytes: number | undefined;
};

/** How to get a model that Ollama does not have. */
export type Absence = {
  /** True if the hub pulls the model now, or is going to. */
  readonly isPulled: boolean;
  /** Sentence about how to get the model, or the progress of its pull. */
  readonly remedy: string;
};

/** Maximum number of remembered unknown models. Their names come from rules, which change, and from pull requests. */
const maxUnknown = 1_000;

export type Absences = ReturnType<typeof createAbsences>;

/** Tracks which models the hub pulls. Ollama does not report pulls of other programs. */
export function createAbsences() {
  const running = new Map<string, PullProgress | undefined>();
  let planned: ReadonlySet<string> = new Set();
  /** Models that no registry had when the hub last tried to pull them. */
  const unknown = new Set<string>();
  return {
    /** Replaces the list of models that the hub is going to pull. */
    plan: (names: readonly string[]) => void (planned = new Set(names.map(fullName))),
    pulling(model: string, progress?: PullProgress): void {
      unknown.delete(model);
      running.set(model, progress);
    },
    pulled: (model: string) => void running.delete(model),
    unknown(model: string): void {
      if (unknown.size >= maxUnknown) unknown.clear();
      unknown.add(model);
    },
    of(name: string): Absence {
      const model = fullName(name);
      if (running.has(model)) return { isPulled: true, remedy: progressText(running.get(model)) };
      if (planned.has(model)) return { isPulled: true, remedy: 'The hub will pull it' };
      if (unknown.has(model))
        return { isPulled: false, remedy: 'No registry has it: correct its name' };
      const path = `/ollama/models/${name.replaceAll('/', '%2F')}/pull`;
      return { isPulled: false, remedy: `Get it with "ollama pull ${name}" or POST ${path}` };
    },
  };
}

function progressText({ completedBytes, totalBytes }: Partial<PullProgress> = {}): string {
  const text = 'It is being pulled';
  if (completedBytes === undefined || !totalBytes) return text;
  const percent = Math.floor((100 * completedBytes) / totalBytes);
  return `${text}: ${percent} % of ${sizeText(totalBytes)}`;
}

const sizeText = (bytes: number) =>
  bytes < 1e9 ? `${Math.ceil(bytes / 1e6)} MB` : `${Math.round(bytes / 1e8) / 10} GB`;
