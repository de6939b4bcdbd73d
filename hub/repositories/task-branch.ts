import { HubError } from '#core';

/**
 * Returns the task id. Throws HUB_REQUEST_INVALID if it cannot be the name of a branch and of a folder on every system.
 */
export function requireTaskId(taskId: string): string {
  if (isTaskId(taskId)) return taskId;
  throw new HubError(
    'HUB_REQUEST_INVALID',
    `the task_id ${JSON.stringify(taskId.slice(0, 200))} cannot name a branch. Use up to 100 letters, digits, ".", "_" and "-", beginning with a letter or a digit`,
  );
}

export const isTaskId = (text: string): boolean =>
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text) && !/\.\.|\.$|\.lock$/i.test(text);

/** Returns the branch of a task. The hub creates and deletes no other branches. */
export const branchOf = (taskId: string): string => `agenthub/${requireTaskId(taskId)}`;

/** Returns the name. Throws HUB_REQUEST_INVALID if git does not allow it for a branch. */
export function requireBranchName(name: string): string {
  const isName =
    /^[^\p{Cc} ~^:?*[\\]{1,200}$/u.test(name) &&
    !/^[-/.]|\.\.|\/\/|@\{|\/\.|[/.]$|\.lock(?:\/|$)/.test(name);
  if (isName) return name;
  throw new HubError(
    'HUB_REQUEST_INVALID',
    `${JSON.stringify(name.slice(0, 200))} is not the name of a branch`,
  );
}
