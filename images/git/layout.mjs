// Finds faults of repositories whose .git folder refers to files outside the repository.

/** Files in .git that show an unfinished operation of the user. */
const operations = {
  MERGE_HEAD: 'a merge',
  CHERRY_PICK_HEAD: 'a cherry-pick',
  REVERT_HEAD: 'a revert',
  BISECT_LOG: 'a bisect',
  'rebase-merge': 'a rebase',
  'rebase-apply': 'a rebase',
};
/** Folders in .git that are not inspected: objects, and worktrees of tasks, whose files may be links. */
const unseen = /^(?:objects\/[0-9a-f]{2}|agenthub\/worktrees\/[^/]+)$/;
/** Hooks, which do not run here. Many people link them to files of the repository. */
const hooks = /^hooks(?:\/|$)/;
const maxEntries = 200_000;

export async function inspectLayout(folders) {
  const faults = [];
  const busy = new Set();
  let entries = 0;
  for await (const { path, status } of folders.walk('.git', path => !unseen.test(path))) {
    if (++entries > maxEntries) {
      faults.push(
        `its .git folder has more than ${maxEntries} entries besides objects: run git pack-refs --all`,
      );
      break;
    }
    if (status.isSymbolicLink() && !hooks.test(path))
      faults.push(
        `.git/${path} is a symbolic link: put what it leads to in its place, or copy the repository with git clone`,
      );
    if (path === 'objects/info/alternates' && status.size > 0)
      faults.push(
        'it uses objects of another repository (.git/objects/info/alternates): run git repack -ad, and remove the file',
      );
    if (path === 'commondir') faults.push('.git/commondir leads to another git folder');
    const [top] = path.split('/');
    if (operations[top]) busy.add(operations[top]);
    if (faults.length >= 10) break;
  }
  return { faults, busy: [...busy] };
}
