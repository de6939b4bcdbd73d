import { HubError, messageOf } from '#core';
import type { SecretStatus } from '#secrets';
import { type Command, type ExitCode, type Run, hubOptions, takenBy } from '../command.ts';
import { isAbsent, isWithoutHub, openHub } from '../hub-client.ts';
import { type Described, fieldsOf, objectsIn } from '../responses.ts';
import { type Cell, showTable } from '../table.ts';
import { choiceOf, textOf, textsOf, usageError, wordOf } from '../values.ts';

/** Minimum length of values that are removed from logs and texts. Shorter values would match ordinary words. */
const minRedactedLength = 8;
const maxValueLength = 100_000;

/** `agenthub secret`: stores (`set NAME`), lists and removes (`remove NAME`) secrets. */
export const secret: Command = {
  name: 'secret',
  summary: 'Set, list or remove the secrets that the config uses as ${secret:NAME}.',
  positionals: [
    { name: 'action', help: '"set", "list" or "remove".', completion: ['list', 'remove', 'set'] },
    { name: 'name', help: 'Name of the secret, for "set" and "remove".', count: 'optional' },
    { name: 'more', help: 'Nothing: a value is never an argument.', count: 'any' },
  ],
  options: {
    ...takenBy(['set'], {
      store: {
        value: 'store',
        completion: ['keychain', 'file'],
        help: 'For "set": "keychain" or "file". Default: the keychain of the system if it can be used, else the encrypted file secrets.json in DATA_DIR.',
      },
    }),
    ...hubOptions,
  },
  details: [
    '"set" reads the value from a hidden prompt, or from stdin without its last line break. The running hub then reads the secrets again, and restarts the servers that use it.',
    'Files in /run/secrets, and files that variables such as NAME_FILE name, come before stored secrets of the same name.',
    '--json prints {"secrets": [{"name", "state", "source", "reason", "used_by": [{"server", "path"}]}]}; with "set", {"name", "store"}; with "remove", {"name"}.',
  ],
  examples: [
    ['secret set GITHUB_TOKEN', 'Type a value, which is not shown'],
    ['secret set GITHUB_TOKEN < token.txt', 'Read it from a file'],
    ['secret list', 'Show names, sources and uses'],
  ],
  async run(run) {
    const action = wordOf(run.values, 'action');
    const name = textOf(run.values, 'name');
    if (textsOf(run.values, 'more').length > 0)
      throw usageError(
        'secret: a value is never an argument, because other programs can read the command line, and shells save it. Write only the name, and type the value when asked, or pipe it: agenthub secret set NAME < file',
      );
    if (action === 'list' && name === undefined) return await list(run);
    if (action === 'set' && name !== undefined) return await set(name, run);
    if (action === 'remove' && name !== undefined) return await remove(name, run);
    throw usageError(
      'secret: write "agenthub secret list", "agenthub secret set NAME" or "agenthub secret remove NAME"',
    );
  },
};

async function set(name: string, run: Run): Promise<ExitCode> {
  const store = choiceOf(run.values, 'store', ['keychain', 'file']);
  const secrets = await run.needs.files.openSecrets();
  secrets.requireName(name);
  const value = await readValue(name, run);
  const stored = await secrets.set(name, value, store);
  if (run.isJson) run.json({ name, store: stored.store });
  else {
    const where =
      stored.store === 'keychain' ? 'the keychain' : `the encrypted file ${secrets.file}`;
    run.out(`stored ${name} in ${where}`);
    if (stored.why !== undefined) run.remark('note', `not in the keychain: ${stored.why}`);
  }
  const own = (await secrets.list([])).find(each => each.name === name);
  if (own?.source === 'mounted')
    run.remark(
      'warning',
      `a file of this machine provides ${name}, and comes before the stored value`,
    );
  if (value.length < minRedactedLength)
    run.remark(
      'warning',
      `the value is shorter than ${minRedactedLength} characters: the hub cannot remove it from logs and pages`,
    );
  return await reloadSecrets({ action: 'secret_set', target: name }, run);
}

async function readValue(name: string, run: Run): Promise<string> {
  const { ask } = run.needs;
  const value = ask
    ? await ask(`Value of ${name}: `, run.signal, 'hidden')
    : (await run.input()).replace(/\r?\n$/, '');
  if (value === '') throw usageError(`secret: the value of ${name} is empty. Nothing was changed`);
  if (value.includes('\0') || value.length > maxValueLength)
    throw usageError(
      `secret: a value has at most ${maxValueLength} characters, none of them NUL. Nothing was changed`,
    );
  return value;
}

async function remove(name: string, run: Run): Promise<ExitCode> {
  const isRemoved = await (await run.needs.files.openSecrets()).remove(name);
  if (!isRemoved)
    throw new HubError(
      'HUB_NAME_UNKNOWN',
      `secret: ${name} is not in the keychain or the encrypted file. "agenthub secret list" shows what is there`,
    );
  if (run.isJson) run.json({ name });
  else run.out(`removed ${name}`);
  return await reloadSecrets({ action: 'secret_removed', target: name }, run);
}

type Change = { readonly action: 'secret_set' | 'secret_removed'; readonly target: string };

/** Makes a running hub read its secrets again. Even without a running hub, the change gets a line in the audit log. */
export async function reloadSecrets(change: Change, run: Run): Promise<ExitCode> {
  const hub = await openHub(run);
  try {
    const body = { [change.action]: change.target };
    const answer = await hub.ask({ method: 'POST', path: '/config/reload', body });
    const { failed, changed } = fieldsOf(answer);
    if (Array.isArray(changed) && changed.length > 0 && !run.isJson)
      run.out(run.screen.foreign(`changed: ${changed.map(String).join(', ')}`));
    for (const { server, message } of objectsIn(failed))
      run.err(run.errorScreen.foreign(`${String(server)}: ${String(message)}`));
    return objectsIn(failed).length > 0 ? 1 : 0;
  } catch (error) {
    if (isAbsent(error)) return await recordStored(change, run);
    if (!(error instanceof HubError)) throw error;
    run.remark(
      'warning',
      `the running hub did not read ${change.target} again: ${messageOf(error)}`,
    );
    return 1;
  }
}

async function recordStored(change: Change, { needs, remark }: Run): Promise<0> {
  const warn = (text: string) => remark('warning', text);
  try {
    await needs.files.recordChange(change, warn);
  } catch (error) {
    if (!(error instanceof HubError)) throw error;
    warn(`this change has no line in the audit log: ${messageOf(error)}`);
  }
  return 0;
}

async function list(run: Run): Promise<ExitCode> {
  const secrets = await listFromHub(run);
  if (run.isJson) return run.json({ secrets });
  showTable(
    ['NAME', 'STATE', 'SOURCE', 'USED BY', 'NOTE'],
    secrets.map(rowOf),
    'No secrets are set or used. Set one: agenthub secret set NAME',
    run,
  );
  return 0;
}

/** Returns the secrets of the running hub, or of the files if no hub runs. */
async function listFromHub(run: Run): Promise<readonly Described[]> {
  const hub = await openHub(run);
  try {
    return objectsIn(fieldsOf(await hub.ask({ method: 'GET', path: '/secrets' }))['secrets']);
  } catch (error) {
    if (!isWithoutHub(error, run)) throw error;
    return await listFromFiles(run);
  }
}

async function listFromFiles({ needs, remark }: Run): Promise<readonly SecretStatus[]> {
  const secrets = await needs.files.openSecrets();
  const loaded = await needs.files.loadConfig(undefined).catch((error: unknown) => {
    remark('warning', `uses are not known, because there is no valid config: ${messageOf(error)}`);
    return undefined;
  });
  return await secrets.list(loaded?.config.secretUses ?? []);
}

const styles = { readable: 'green', unreadable: 'red', missing: 'red' } as const;

function rowOf({
  name,
  state,
  source = '',
  reason = '',
  used_by: uses,
}: Described): readonly Cell[] {
  const style = state === 'readable' || state === 'missing' ? styles[state] : styles.unreadable;
  const places = objectsIn(uses).map(({ path }) => String(path));
  return [
    String(name),
    { text: String(state), style },
    String(source),
    places.join(', '),
    String(reason),
  ];
}
