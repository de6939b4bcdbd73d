// Finds out whether dist/ of a clone is what scripts/build.mjs would make of its sources now. An edit must never be
// ignored, and a copied file may have an older time than the build. So the times of all files must be those of the
// build; otherwise the hub runs from its sources.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** What the content of dist/ depends on, besides the files in hub/. */
const others = ['hub', 'package.json', 'package-lock.json', 'scripts/build.mjs'];

/** The file in which a build records the times of its sources and of its output. */
export const recordOf = root => join(root, 'dist', 'build.json');

/**
 * The record of the build; its `output` has the files in dist/. Undefined if a source or a file of the build was
 * changed, added or removed since. Takes 4 ms.
 */
export function findBuild(root) {
  try {
    const record = JSON.parse(readFileSync(recordOf(root), 'utf8'));
    const isWhole = isSame(root, record.sources) && isSame(join(root, 'dist'), record.output);
    return isWhole ? record : undefined;
  } catch {
    return undefined;
  }
}

/** The paths of all sources of the build. Folders are among them, because adding or removing a file changes their time. */
export function sourcesOf(root) {
  // The programs of agents and of ollama-mcp are not in dist/, but made with it (scripts/prepare.mjs).
  const programs = ['agent', 'ollama-mcp'].map(name => join('images', name, 'source'));
  const inside = ['hub', ...programs].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true }).map(file => join(folder, file)),
  );
  return [...others, ...inside.filter(file => !file.endsWith('.md'))];
}

/** The times at which files or their attributes changed last. The time of their content is not used: programs can set it. */
export function timesOf(folder, files) {
  return Object.fromEntries(files.map(file => [file, changedAt(folder, file)]));
}

function isSame(folder, times) {
  return Object.entries(times).every(([file, time]) => changedAt(folder, file) === time);
}

function changedAt(folder, file) {
  return statSync(`${folder}/${file}`).ctimeMs;
}
