import assert from 'node:assert/strict';
import { test } from 'vitest';
import { errorLineIn } from '../../../hub/servers/lifecycle/error-line.ts';

/** Output of real programs that failed, and the line of it that contains the reason. */
test.for([
  [
    'Node: an error that is thrown',
    `/app/index.js:12
    throw new Error('BRAVE_API_KEY is required');
    ^

Error: BRAVE_API_KEY is required
    at Object.<anonymous> (/app/index.js:12:11)
    at Module._compile (node:internal/modules/cjs/loader:1554:14)

Node.js v24.21.0`,
    'Error: BRAVE_API_KEY is required',
  ],
  [
    'Node: a missing package',
    `node:internal/modules/package_json_reader:268
  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);
        ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /app/a.mjs
    at packageResolve (node:internal/modules/esm/resolve:768:81) {
  code: 'ERR_MODULE_NOT_FOUND'
}

Node.js v24.21.0`,
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /app/a.mjs",
  ],
  [
    'Node: an error event without a listener',
    `node:events:505
    throw er; // Unhandled 'error' event
    ^

Error: listen EADDRINUSE: address already in use :::3000
    at Server.setupListenHandle [as _listen2] (node:net:1940:16)
Emitted 'error' event on Server instance at:
    at emitErrorNT (node:net:1919:8) {
  code: 'EADDRINUSE',
  errno: -98,
  syscall: 'listen',
  address: '::',
  port: 3000
}

Node.js v24.21.0`,
    'Error: listen EADDRINUSE: address already in use :::3000',
  ],
  [
    'Python: a traceback',
    `Traceback (most recent call last):
  File "/app/server.py", line 1, in <module>
    import missing_module
ModuleNotFoundError: No module named 'missing_module'`,
    "ModuleNotFoundError: No module named 'missing_module'",
  ],
  [
    'argparse',
    `usage: mcp-server-git [-h] --repository REPOSITORY
mcp-server-git: error: the following arguments are required: --repository`,
    'mcp-server-git: error: the following arguments are required: --repository',
  ],
  [
    'Go: a panic',
    `panic: runtime error: index out of range [0] with length 0

goroutine 1 [running]:
main.main()
	/src/main.go:6 +0x1d
exit status 2`,
    'panic: runtime error: index out of range [0] with length 0',
  ],
  [
    'npm: a package that does not exist',
    `npm error code E404
npm error 404 Not Found - GET https://registry.example/nope - Not found
npm error 404  The requested resource 'nope@1' could not be found or you do not have permission to access it.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm error Log files were not written due to the config logs-max=0`,
    "npm error 404  The requested resource 'nope@1' could not be found or you do not have permission to access it.",
  ],
  [
    'a log that goes on after the error',
    `2026-01-31 ERROR cannot open database: permission denied
2026-01-31 INFO error handler is shutting down
Goodbye`,
    '2026-01-31 ERROR cannot open database: permission denied',
  ],
  [
    'a program that says how it ends',
    `Error: BRAVE_API_KEY is required
Exiting, see the examples for every environment variable`,
    'Error: BRAVE_API_KEY is required',
  ],
  [
    'a code of the system',
    'starting\nlisten EADDRINUSE :::8080\nended',
    'listen EADDRINUSE :::8080',
  ],
  ['no error', 'Loading the environment\nEnabled: echo', undefined],
  ['a shell', 'sh: 1: git: not found', 'sh: 1: git: not found'],
] as const)('%s', ([, output, line]) => {
  assert.equal(errorLineIn(output.split('\n')), line);
});

test.for(['', 'listening on stdio', 'found 0 errors', '    at Object.<anonymous> (error.js:1:1)'])(
  '%j reports no error',
  line => {
    assert.equal(errorLineIn([line]), undefined);
  },
);
