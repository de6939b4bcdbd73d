import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { TarFile } from '#contexts';
import type { BuildSource } from '#runtimes';

type ProjectKind = Exclude<BuildSource['kind'], 'docker'>;

/** Files that decide which packages a project installs. */
const manifestNames: Readonly<Record<ProjectKind, readonly string[]>> = {
  npm: ['package.json', 'package-lock.json', 'npm-shrinkwrap.json'],
  python: ['pyproject.toml', 'uv.lock'],
};

const basenameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);

/**
 * Returns the build context of a project: the template, the files in `project/`, and copies of the manifests in
 * `manifest/`. A build step that installs packages depends on the manifests only, and the engine repeats it only if
 * they change.
 */
export function layProject(
  kind: ProjectKind,
  template: readonly TarFile[],
  files: readonly TarFile[],
  lock: string | undefined,
): readonly TarFile[] {
  const isManifest = ({ path, link }: TarFile) =>
    link === undefined && manifestNames[kind].includes(basenameOf(path));
  const inFolder = (folder: string) => (file: TarFile) => ({
    ...file,
    path: `${folder}/${file.path}`,
  });
  return [
    ...template,
    ...(lock === undefined ? [] : [{ path: 'lock', content: Buffer.from(lock) }]),
    ...files.filter(isManifest).map(inFolder('manifest')),
    ...files.map(inFolder('project')),
  ];
}

/**
 * Returns the name under which a project's lock is stored. It depends on the manifests only, so the lock outlives
 * changes of the code.
 */
export function projectLockName(
  { folder, kind }: Pick<BuildSource, 'folder' | 'kind'>,
  files: readonly TarFile[],
  base = '',
): string {
  const names = kind === 'docker' ? [] : manifestNames[kind];
  const hash = createHash('sha256').update(JSON.stringify([kind, base]));
  for (const { path, content } of files)
    if (names.includes(basenameOf(path))) hash.update(JSON.stringify(path)).update(content);
  const name = basename(folder).replaceAll(/[^\w.-]+/g, '-');
  return `build-${name}@${hash.digest('hex').slice(0, 12)}`;
}
