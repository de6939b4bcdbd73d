// Checks whether dist/ of a clone is up to date with its sources. An edit must never be ignored, and a copied file may
// be older than the build. So the time of each file must equal the one in the record of the build (scripts/build.mjs);
// otherwise the hub runs from its sources.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Files and folders on which the content of dist/ depends, besides the files in hub/. */
const others = ['hub', 'package.json', 'package-lock.json', 'scripts/build.mjs'];

/** The file in which a build records the times of its sources and of its output. */
export const recordOf = root => join(root, 'dist', 'build.json');

/**
 * Returns the record of the build, whose `output` lists the files in dist/. Undefined if a source or a file in dist/
 * was changed, added or removed since the build. Takes about 10 ms.
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

/**
 * Returns the paths of all sources of the build, including folders: adding or removing a file changes a folder's time.
 */
export function sourcesOf(root) {
  // The programs of agents and of ollama-mcp are not in dist/, but scripts/prepare.mjs builds them together with it.
  const programs = ['agent', 'ollama-mcp'].map(name => join('images', name, 'source'));
  const inside = ['hub', ...programs].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true }).map(file => join(folder, file)),
  );
  return [...others, ...inside.filter(file => !file.endsWith('.md'))];
}

/** Returns the ctime of each file by its path. The mtime is not used, because programs can set it. */
export function timesOf(folder, files) {
  return Object.fromEntries(files.map(file => [file, changedAt(folder, file)]));
}

function isSame(folder, times) {
  return Object.entries(times).every(([file, time]) => changedAt(folder, file) === time);
}

function changedAt(folder, file) {
  return statSync(`${folder}/${file}`).ctimeMs;
}
