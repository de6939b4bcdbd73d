import { HubError } from '#core';
import type { Git } from './git.ts';
import type { CommitId, CommitRequest } from './repository-types.ts';

const author = { name: 'AgentHub', email: 'agenthub@localhost' };
const maxMessageLength = 100_000;

type NewCommit = Pick<CommitRequest, 'message' | 'trailers'> & {
  readonly tree: string;
  readonly parents: readonly CommitId[];
};

/** Creates a commit that is not on any branch yet, and returns its id. */
export async function createCommit(
  git: Git,
  { tree, parents, message, trailers }: NewCommit,
  signal: AbortSignal,
): Promise<CommitId> {
  const args = ['commit-tree', ...parents.flatMap(parent => ['-p', parent]), tree];
  const env = {
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_COMMITTER_NAME: author.name,
    GIT_COMMITTER_EMAIL: author.email,
  };
  const input = messageOf({ message, ...(trailers && { trailers }) });
  const { stdout } = await git(args, { input, env }, signal);
  return stdout.toString().trim();
}

/** Returns the commit message, with its trailers in a paragraph of their own. */
function messageOf({ message, trailers = {} }: Pick<NewCommit, 'message' | 'trailers'>): string {
  const text = message.replaceAll('\0', '').slice(0, maxMessageLength).trim() || 'No message';
  const lines = Object.entries(trailers).map(([name, value]) => {
    if (!/^[A-Za-z][A-Za-z0-9-]{0,60}$/.test(name))
      throw new HubError(
        'HUB_REQUEST_INVALID',
        `${JSON.stringify(name.slice(0, 200))} is not the name of a trailer: use letters, digits and "-"`,
      );
    return `${name}: ${value
      .replaceAll(/\p{Cc}+/gu, ' ')
      .slice(0, 1_000)
      .trim()}`;
  });
  return lines.length === 0 ? `${text}\n` : `${text}\n\n${lines.join('\n')}\n`;
}

/** Moves a branch from one commit to another. Rejects with HUB_GIT_FAILED if the branch is not at `from`. */
export async function moveBranch(
  git: Git,
  branch: string,
  { from, to, why }: { readonly from: CommitId; readonly to: CommitId; readonly why: string },
  signal: AbortSignal,
): Promise<void> {
  await git(['update-ref', '-m', `agenthub: ${why}`, `refs/heads/${branch}`, to, from], {}, signal);
}

/** Returns the commit of a branch; undefined if there is no such branch. */
export async function findBranch(
  git: Git,
  branch: string,
  signal: AbortSignal,
): Promise<CommitId | undefined> {
  const args = ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`];
  const { code, stdout } = await git(args, { codes: [0, 1] }, signal);
  return code === 0 ? stdout.toString().trim() : undefined;
}
