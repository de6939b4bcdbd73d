import { HubError } from '#core';
import { type Command, hubOptions } from '../command.ts';
import { openHub, pathOfServer } from '../hub-client.ts';
import { fieldsOf } from '../responses.ts';
import { wordOf } from '../values.ts';

const server = { name: 'server', help: 'Server name.', completion: 'server' } as const;

/** `agenthub login`: logs the hub in to a remote server with a browser. */
export const login: Command = {
  name: 'login',
  summary: 'Log the hub in to a remote server, with a browser.',
  positionals: [server],
  options: {
    ...hubOptions,
    print: { help: 'Only print the address for the browser, and wait.' },
  },
  details: [
    'The browser returns to the hub, so it must run on the same machine, or reach its port through a tunnel (ssh -L 9090:127.0.0.1:9090).',
    '--json prints the login as in GET /servers/{name}/login, after the address as {"url"}.',
  ],
  examples: [
    ['login github', 'Log in to one server'],
    ['login github --print', 'An address for a browser elsewhere, such as behind an SSH tunnel'],
  ],
  async run(run) {
    const { values, needs, isJson, json, out, progress } = run;
    const name = wordOf(values, 'server');
    const hub = await openHub(run);
    const path = `${pathOfServer(name)}/login`;
    progress(`asking ${name} where to log in`);
    const { url } = fieldsOf(await hub.ask({ method: 'POST', path }));
    if (typeof url !== 'string' || !/^https?:/.test(url))
      throw new HubError(
        'HUB_CONNECT_FAILED',
        `the program at ${hub.url} returns no address for the login. Name the hub with --url`,
      );
    const isOpened = values['print'] !== true && !isJson && (await needs.openBrowser(url));
    if (isJson) json({ url });
    else out(isOpened ? 'Your browser opens.' : url);
    progress('waiting for the browser');
    const login = await hub.ask({ method: 'GET', path: `${path}/done` });
    if (isJson) return json(login);
    out(`logged in to ${name}`);
    return 0;
  },
};

/** `agenthub logout`: revokes and forgets the tokens for a remote server. */
export const logout: Command = {
  name: 'logout',
  summary: 'Log the hub out of a remote server: revoke and forget its tokens.',
  positionals: [server],
  options: hubOptions,
  details: ['--json prints the response of POST /servers/{name}/logout.'],
  examples: [['logout github', 'Log out of one server']],
  async run(run) {
    const name = wordOf(run.values, 'server');
    const hub = await openHub(run);
    const answer = await hub.ask({ method: 'POST', path: `${pathOfServer(name)}/logout` });
    if (run.isJson) return run.json(answer);
    const { was_logged_in: wasLoggedIn, revoked } = fieldsOf(answer);
    if (wasLoggedIn !== true) run.out(`${name} had no login`);
    else
      run.out(
        revoked === true
          ? `logged out of ${name}: its tokens are revoked`
          : `logged out of ${name}: its tokens are forgotten, but its authorization server did not confirm that it revoked them`,
      );
    return 0;
  },
};
