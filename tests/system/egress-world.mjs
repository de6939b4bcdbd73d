// Plays the outside world that the forwarder reaches in the tests. It answers with the host name of each request, and
// prints connections to ports of services that no server may reach.
import { execSync, spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { createServer as createTcp } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';

mkdirSync('/tmp/package');
writeFileSync('/tmp/package/package.json', JSON.stringify({ name: 'tiny', version: '1.0.0' }));
execSync('tar -czf /tmp/tiny.tgz -C /tmp package');
const tarball = readFileSync('/tmp/tiny.tgz');
const integrity = `sha512-${hash('sha512', tarball, 'base64')}`;
const counted = Array.from({ length: 64 }, (_, at) =>
  Buffer.from(
    Uint32Array.from({ length: 2 ** 17 }, (_number, index) => at * 2 ** 17 + index).buffer,
  ),
);

const print = line => void process.stdout.write(`${line}\n`);

const answers = {
  '/tiny': ({ headers: { host } }, response) =>
    response.end(
      JSON.stringify({
        name: 'tiny',
        'dist-tags': { latest: '1.0.0' },
        versions: {
          '1.0.0': {
            name: 'tiny',
            version: '1.0.0',
            dist: { tarball: `http://${host}/tiny.tgz`, integrity },
          },
        },
      }),
    ),
  '/tiny.tgz': (_, response) => response.end(tarball),
  '/endless': (_, response) => {
    const chunk = Buffer.alloc(65536);
    const timer = setInterval(() => response.write(chunk), 20);
    response.on('close', () => clearInterval(timer));
  },
  '/counted': (_, response) => void Readable.from(counted).pipe(response),
  '/flood': (_, response) => {
    const chunk = Buffer.alloc(65536);
    const more = () => {
      while (response.write(chunk));
    };
    response.on('drain', more);
    more();
  },
};

function answer(request, response) {
  const { host } = request.headers;
  const [path] = request.url.split('?');
  if (answers[path]) return void answers[path](request, response);
  if (path.startsWith('/git/')) return answerGit(request, response);
  if (path.startsWith('/files/')) {
    const file = join(
      '/files',
      path.slice('/files'.length),
      path.endsWith('/') ? 'index.html' : '',
    );
    const isFile = existsSync(file) && statSync(file).isFile();
    if (path.endsWith('/')) response.setHeader('content-type', 'text/html');
    return void (isFile ? response.end(readFileSync(file)) : response.writeHead(404).end());
  }
  let body = '';
  request.on('data', chunk => (body += chunk));
  request.on('end', () =>
    response.end(`${request.method} ${host}${request.url}${body && ' '}${body}`),
  );
}

/** Serves Git's smart HTTP protocol, with the Git of the machine that runs the tests. */
function answerGit(request, response) {
  const [path, query = ''] = request.url.slice('/git'.length).split('?');
  const backend = spawn('/host/lib/git-core/git-http-backend', {
    env: {
      LD_LIBRARY_PATH: '/host/lib/x86_64-linux-gnu',
      GIT_EXEC_PATH: '/host/lib/git-core',
      GIT_PROJECT_ROOT: '/files',
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      GIT_PROTOCOL: request.headers['git-protocol'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  request.pipe(backend.stdin);
  const chunks = [];
  backend.stdout.on('data', chunk => chunks.push(chunk));
  backend.stdout.on('end', () => {
    const all = Buffer.concat(chunks);
    const end = all.indexOf('\r\n\r\n');
    for (const line of all.toString('latin1', 0, end).split('\r\n')) {
      const [name, value] = line.split(': ');
      if (name === 'Status') response.statusCode = Number(value.slice(0, 3));
      else response.setHeader(name, value);
    }
    response.end(all.subarray(end + 4));
  });
}

for (const port of [80, 443, 8080, 9090]) createHttp(answer).listen(port);
if (existsSync('/certificate'))
  createHttps(
    { cert: readFileSync('/certificate'), key: readFileSync('/certificate-key') },
    answer,
  ).listen(8443);

/** Answers with the bytes that the path of the request contains in base64url. */
createTcp(socket => {
  socket.on('error', () => {});
  let head = '';
  socket.on('data', chunk => {
    head += chunk.toString('latin1');
    const [, path] = /^\S+ \/(\S*) .*\r\n\r\n/s.exec(head) ?? [];
    if (path !== undefined) socket.end(Buffer.from(path, 'base64url'));
  });
}).listen(8081);

/** Echoes data with the name of the service in front, and prints that it was reached. */
const echo = name => socket => {
  print(`reached ${name} ${socket.localPort}`);
  socket.on('error', () => {});
  socket.on('data', data => socket.write(`${name} ${data}`));
};
createTcp(echo('db')).listen(5432);
createTcp(echo('redis')).listen(6379);
createTcp(echo('qdrant')).listen(6333);
createTcp(echo('ollama')).listen(11434);
createTcp(echo('dns')).listen(53);
createSocket('udp4')
  .on('message', () => print('reached dns 53'))
  .bind(53, () => print('ready'));
