import { createHash } from 'node:crypto';
import type { ThreadPace } from '#core';
import type { Project } from '../project/project-types.ts';
import { type NoteNames, describe, draftModuleNote } from './module-note.ts';
import { createNoteNames } from './note-names.ts';
import type { DraftNote } from './note-types.ts';
import { type Overview, draftArchitecture, draftIndex, draftReadme } from './overview-notes.ts';

/** Raised when the form of notes changes, so that the next run writes all of them again. */
const form = 1;

/** Names the notes of a project. The same folders get the same names in each run. */
export function nameNotes({ name: project, modules }: Project): NoteNames {
  const { ofModule, ...overviews } = createNoteNames(project);
  return {
    project,
    ...overviews,
    ofModule: new Map(modules.map(({ folder }) => [folder, ofModule(folder)])),
  };
}

/** Writes the notes of all modules, one at a time: other work of the process goes between. */
export function* draftModuleNotes(
  project: Project,
  names: NoteNames,
  pace: ThreadPace,
): Generator<DraftNote> {
  const modules = new Map(project.modules.map(module => [module.folder, module]));
  for (const module of project.modules) yield draftModuleNote(module, modules, names, pace);
}

/** Writes the notes about all modules. `described`: what earlier or other notes say about modules. */
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

/** Changes if and only if what a note was made from changes. */
export const sourceHashOf = ({ title, tags, body, madeFrom }: DraftNote): string =>
  createHash('sha256')
    .update(JSON.stringify([form, title, tags, body, madeFrom]))
    .digest('hex');
