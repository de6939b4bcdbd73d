/** How an image is built of a folder: by its own Dockerfile, by npm or by uv. */
export type ContextKind = 'docker' | 'npm' | 'python';

/**
 * Determines, from the names of a folder's files, how to build an image of it. `why`: it cannot be built, as the end of
 * a sentence about the folder.
 */
export function kindOfFolder(
  names: readonly string[],
): { readonly kind: ContextKind } | { readonly why: string } {
  const has = (name: string) => names.includes(name);
  if (has('Dockerfile')) return { kind: 'docker' };
  if (has('package.json') && has('pyproject.toml'))
    return {
      why: 'holds both package.json and pyproject.toml. Add a Dockerfile that says how to build it, or name the folder that holds one of them',
    };
  if (has('package.json')) return { kind: 'npm' };
  if (has('pyproject.toml')) return { kind: 'python' };
  return {
    why: 'holds no Dockerfile, package.json or pyproject.toml. Add one of them, or name the folder that holds it',
  };
}
