import type { ExistingNote } from '../notes/frontmatter.ts';

/** A note of this run, without the texts of models. */
export type WantedNote = {
  /** Name of the note, without `.md`. */
  readonly name: string;
  readonly sourceHash: string;
  /** Model that writes parts of the note; undefined if no model does. */
  readonly model: string | undefined;
};

/**
 * Action for a note. `beside`: the note was edited by hand, so the new version is written next to it as `NAME.new`.
 * `conflict`: both the note and the version next to it were edited.
 */
export type NoteAction = 'create' | 'replace' | 'keep' | 'beside' | 'conflict';

export type PlannedNote = {
  readonly name: string;
  readonly action: NoteAction;
  /** Name of the note to write; undefined for `keep` and `conflict`. */
  readonly target: string | undefined;
};

const besideName = (name: string): string => `${name}.new`;

/** Decides what to do with a note, by comparing it with the existing notes. Pure. `existing`: notes by name. */
export function planWrite(
  note: WantedNote,
  existing: ReadonlyMap<string, ExistingNote>,
): PlannedNote {
  const { name } = note;
  const found = existing.get(name);
  if (!found) return { name, action: 'create', target: name };
  if (isCurrent(found, note)) return { name, action: 'keep', target: undefined };
  if (!found.isEdited) return { name, action: 'replace', target: name };
  const beside = existing.get(besideName(name));
  if (beside && isCurrent(beside, note)) return { name, action: 'keep', target: undefined };
  if (beside?.isEdited) return { name, action: 'conflict', target: undefined };
  return { name, action: 'beside', target: besideName(name) };
}

/**
 * Returns the notes to remove: those of modules that no longer exist, and obsolete versions next to other notes. Edited
 * notes are not removed. Pure.
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

/** True if a note is up to date. If no model is available now, a note with the text of a model stays. */
const isCurrent = ({ sourceHash, model }: ExistingNote, wanted: WantedNote) =>
  sourceHash === wanted.sourceHash && (wanted.model === undefined || wanted.model === model);
