import { createHash } from 'node:crypto';
import type { ThreadPace } from '#core';
import type { Project } from '../project/project-types.ts';
import { type NoteNames, describe, draftModuleNote } from './module-note.ts';
import { createNoteNames } from './note-names.ts';
import type { DraftNote } from './note-types.ts';
import { type Overview, draftArchitecture, draftIndex, draftReadme } from './overview-notes.ts';

/** Version of the format of notes. Increment it to make the next run write all notes again. */
const form = 1;

/** Chooses the names of a project's notes. The same folders get the same names in each run. */
export function nameNotes({ name: project, modules }: Project): NoteNames {
  const { ofModule, ...overviews } = createNoteNames(project);
  return {
    project,
    ...overviews,
    ofModule: new Map(modules.map(({ folder }) => [folder, ofModule(folder)])),
  };
}

/** Yields the notes of all modules one at a time, so that other work of the process is not blocked. */
export function* draftModuleNotes(
  project: Project,
  names: NoteNames,
  pace: ThreadPace,
): Generator<DraftNote> {
  const modules = new Map(project.modules.map(module => [module.folder, module]));
  for (const module of project.modules) yield draftModuleNote(module, modules, names, pace);
}

/** Yields the notes about all modules. `described`: descriptions of modules, from this or an earlier run. */
export function* draftOverviews(
  project: Project,
  names: NoteNames,
  described: ReadonlyMap<string, string>,
): Generator<DraftNote> {
  const descriptions = new Map(
    project.modules.map(module => [
      module.folder,
      described.get(module.folder) ?? describe(module),
    ]),
  );
  const overview: Overview = { project, names, descriptions };
  for (const draft of [draftReadme, draftIndex, draftArchitecture]) yield draft(overview);
}

/** Returns a hash of everything that a note is made from, except the text of a model. */
export const sourceHashOf = ({ title, tags, body, madeFrom }: DraftNote): string =>
  createHash('sha256')
    .update(JSON.stringify([form, title, tags, body, madeFrom]))
    .digest('hex');
