import { type ClientName, type HubAddress, clients, tokenIn, tokenVariable } from '#clients';
import type { Run } from './command.ts';
import { createHubClient, isAbsent } from './hub-client.ts';
import type { HubPlace } from './needs.ts';
import type { OwnToken } from './own-token.ts';
import { type Values, usageError } from './values.ts';

/** Throws HUB_USAGE if the client cannot log in to a hub, or if `--token` is given as well. */
export function refuseLogin(client: ClientName, values: Values): void {
  if (values['token'] === true)
    throw usageError('--login, --token: choose one. With --login no token is written');
  if (client === 'claude-desktop')
    throw usageError(
      `--login: ${clients[client].title} reaches the hub over stdio, where clients cannot log in. Leave --login out`,
    );
}

/** How clients log in that open no browser by themselves, by the name of the hub's entry. */
const logins: Readonly<Partial<Record<ClientName, (entry: string) => string>>> = {
  'claude-code': entry => `by "claude mcp login ${entry}"`,
  codex: entry => `by "codex mcp login ${entry}"`,
  'gemini-cli': entry => `by "/mcp auth ${entry}"`,
  'copilot-cli': entry => `by "/mcp auth ${entry}"`,
  'qwen-code': entry => `in its dialog "/mcp", at ${entry}`,
  opencode: entry => `by "opencode mcp auth ${entry}"`,
};

/**
 * Returns notes for the user about a client's entry. `login`: name of the entry, if the client gets its token by a
 * login.
 */
export function notesFor(
  client: ClientName,
  hub: HubAddress,
  { own, login }: { readonly own?: OwnToken | undefined; readonly login?: string | undefined } = {},
): readonly string[] {
  const { token, url, isTokenMade } = hub;
  const { title } = clients[client];
  const notes: string[] = [];
  const where = token === undefined ? 'nowhere' : tokenIn(client, hub);
  if (where === 'variable')
    notes.push(
      `${title} reads the token from ${tokenVariable} in its own environment: set it where ${title} is started.`,
    );
  if (where === 'value') notes.push(noteOnValue(client, hub, own));
  if (token !== undefined && client === 'raycast')
    notes.push(
      isTokenMade === true
        ? 'the hub requires a token for calls: add the header "Authorization", with "Bearer " and the text of the file call-token in DATA_DIR.'
        : `the hub requires a token: add the header "Authorization", with "Bearer " and the value of ${tokenVariable}.`,
    );
  if (login !== undefined) {
    const when = logins[client]?.(login) ?? 'when it uses the hub';
    notes.push(`${title} logs in ${when}: it opens your browser, where you allow it.`);
  }
  if (url.startsWith('https:')) notes.push(`${title} must trust the certificate of ${url}.`);
  return notes;
}

/** Returns a note about a token that is written into the client's file. */
function noteOnValue(client: ClientName, { isTokenMade }: HubAddress, own: OwnToken | undefined) {
  const { title } = clients[client];
  const secrecy = 'keep the file out of repositories, and do not let others read it.';
  const offered =
    client === 'claude-desktop' ? '' : ` With --login, ${title} gets one by your browser instead.`;
  if (own) return `the token of ${own.name} is in that file now: ${secrecy}${offered}`;
  return isTokenMade === true
    ? `the hub requires a token for calls, which is in that file now: ${secrecy}`
    : `the token is in that file now, because ${title} reads no variables: do not let others read it.`;
}

/** Prints a note if no hub answers at the address: the client reaches none before it is started. */
export async function noteAbsence(place: HubPlace, run: Run): Promise<void> {
  if (run.isJson) return;
  try {
    await createHubClient(place, run).ask({ method: 'GET', path: '/health' });
  } catch (error) {
    run.signal.throwIfAborted();
    if (isAbsent(error))
      run.remark('note', `no hub answers at ${place.url} now: start it with "agenthub serve"`);
  }
}
