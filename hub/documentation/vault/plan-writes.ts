import type { ExistingNote } from '../notes/frontmatter.ts';

/** A note of this run, before the texts of models are written. */
type WantedNote = {
  /** Without `.md`. */
  readonly name: string;
  readonly sourceHash: string;
  /** The model that is to write a part of it; undefined if none is. */
  readonly model: string | undefined;
};

/**
 * What happens to a note. `beside`: it was edited by hand, so the new one is laid beside it. `conflict`: both the note
 * and the one beside it were edited.
 */
export type NoteAction = 'create' | 'replace' | 'keep' | 'beside' | 'conflict';

export type PlannedNote = {
  readonly name: string;
  readonly action: NoteAction;
  /** The note to write; undefined for `keep` and `conflict`. */
  readonly target: string | undefined;
};

const besideName = (name: string): string => `${name}.new`;

/** Decides what is written, by the notes that are there. Pure. `existing`: by name. */
export function planWrites(
  wanted: readonly WantedNote[],
  existing: ReadonlyMap<string, ExistingNote>,
): readonly PlannedNote[] {
  return wanted.map(note => {
    const { name } = note;
    const found = existing.get(name);
    if (!found) return { name, action: 'create', target: name };
    if (isCurrent(found, note)) return { name, action: 'keep', target: undefined };
    if (!found.isEdited) return { name, action: 'replace', target: name };
    const beside = existing.get(besideName(name));
    if (beside && isCurrent(beside, note)) return { name, action: 'keep', target: undefined };
    if (beside?.isEdited) return { name, action: 'conflict', target: undefined };
    return { name, action: 'beside', target: besideName(name) };
  });
}

/**
 * Notes of modules that are gone, and notes beside others that are of no use any more. One that was edited stays.
 * Pure.
 */
export function planRemovals(
  wanted: readonly WantedNote[],
  existing: ReadonlyMap<string, ExistingNote>,
): readonly string[] {
  const names = new Set(wanted.map(({ name }) => name));
  const replaced = new Set(
    wanted
      .filter(({ name }) => existing.get(name)?.isEdited === false)
      .map(({ name }) => besideName(name)),
  );
  const isBesideWanted = new Set([...names].map(besideName));
  return [...existing].flatMap(([name, { isEdited, source }]) => {
    if (isEdited || source === undefined || names.has(name)) return [];
    return isBesideWanted.has(name) && !replaced.has(name) ? [] : [name];
  });
}

/** A note with the text of a model stays if no model is there now. */
const isCurrent = ({ sourceHash, model }: ExistingNote, wanted: WantedNote) =>
  sourceHash === wanted.sourceHash && (wanted.model === undefined || wanted.model === model);
