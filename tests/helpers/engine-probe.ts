import { request } from 'node:http';

const probeMs = 5_000;

/** Address of the Docker engine of the tests: DOCKER_HOST, or the default socket. */
export const engineHost = process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock';

/**
 * With AGENTHUB_REQUIRE_ENGINE=1 tests fail where there is no engine. CI sets it, as it has one and may skip nothing.
 */
export const engineRequired = process.env['AGENTHUB_REQUIRE_ENGINE'] === '1';

/** Returns why tests that need an engine cannot run, as a clause; undefined if an engine answers. */
export async function probeEngine(host = engineHost): Promise<string | undefined> {
  const answer = await ping(host);
  return answer === 'OK' ? undefined : `no Docker engine answers at ${host}: ${answer}`;
}

/** Returns `OK`, or why the engine did not answer the ping. */
function ping(host: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const at = host.startsWith('unix://')
    ? { socketPath: host.slice('unix://'.length) }
    : { hostname: new URL(host).hostname, port: new URL(host).port || '2375' };
  const asked = request({ ...at, path: '/_ping', timeout: probeMs }, answer => {
    answer.resume();
    resolve(answer.statusCode === 200 ? 'OK' : `status ${answer.statusCode ?? 'unknown'}`);
  });
  asked.on('timeout', () => asked.destroy(new Error(`no answer within ${probeMs} ms`)));
  asked.on('error', error => resolve(error.message));
  asked.end();
  return promise;
}
