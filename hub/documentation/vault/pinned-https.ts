import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import type { Agent, AgentOptions } from 'node:https';
import { type Clock, HubError, createAbortScope, https, messageOf } from '#core';

/** The expected certificate of a server whose certificate may be self-signed. */
type Pin = {
  /** SHA-256 fingerprint of the certificate: 64 hex digits, with or without colons. */
  readonly fingerprint?: string | undefined;
  /** The certificate, or that of its authority, as PEM. */
  readonly certificate?: string | undefined;
};

export type HttpsAnswer = { readonly status: number; readonly type: string; readonly body: string };

export type HttpsRequest = {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
};

type Needs = { readonly clock: Clock };

const requestMs = 30_000;
const maxAnswerBytes = 8 * 2 ** 20;

/**
 * Creates an HTTPS client for one server. Requests are sent only after the certificate was verified: it is the pinned
 * one, or a trusted authority signed it. Rejects with HUB_VAULT_UNREACHABLE.
 */
export function createPinnedHttps(origin: URL, pin: Pin, { clock }: Needs) {
  const expected = pin.fingerprint?.replaceAll(':', '').toUpperCase();
  let trust: Promise<AgentOptions> | undefined;
  let agent: Agent | undefined;

  /** Returns the TLS options that trust the server. To check a fingerprint, connects only to read the certificate. */
  async function trustOf(signal: AbortSignal): Promise<AgentOptions> {
    if (pin.certificate !== undefined) return trusting(pin.certificate);
    if (expected === undefined) return {};
    const certificate = await peerCertificate(origin, signal);
    const found = fingerprintOf(certificate);
    if (found === expected) return trusting(certificate.toString());
    throw unreachable(
      origin,
      `its certificate has the SHA-256 fingerprint ${found}, not the one in documentation.obsidian.fingerprint. If the plugin made a new certificate, compare it there and update the config`,
    );
  }

  return {
    async request(wanted: HttpsRequest, ending: AbortSignal): Promise<HttpsAnswer> {
      using limit = createAbortScope([ending], { clock, limitMs: requestMs });
      try {
        const trusted = await (trust ??= trustOf(limit.signal));
        agent ??= new https.Agent({ keepAlive: true, maxSockets: 4, ...trusted });
        return await send(wanted, agent, limit.signal);
      } catch (error) {
        trust = undefined;
        ending.throwIfAborted();
        throw error instanceof HubError ? error : unreachable(origin, messageOf(error), error);
      }
    },
    close: () => agent?.destroy(),
  };
}

const unreachable = (origin: URL, why: string, cause?: unknown) =>
  new HubError(
    'HUB_VAULT_UNREACHABLE',
    `the Local REST API of Obsidian at ${origin.origin} cannot be used: ${why}`,
    { cause },
  );

/** Returns TLS options that trust one certificate. If the server presents it, the host name in it is not checked. */
function trusting(certificate: string): AgentOptions {
  const expected = fingerprintOf(new X509Certificate(certificate));
  return {
    ca: certificate,
    checkServerIdentity: (host, presented) =>
      presented.fingerprint256.replaceAll(':', '') === expected
        ? undefined
        : new Error(
            `its certificate is not the one in the config, and is for ${presented.subjectaltname ?? 'no host'}, not for ${host}`,
          ),
  };
}

const fingerprintOf = ({ fingerprint256 }: X509Certificate) => fingerprint256.replaceAll(':', '');

/** Reads the certificate of a server in a TLS handshake without verification, and closes the connection. */
async function peerCertificate(
  { hostname, port }: URL,
  signal: AbortSignal,
): Promise<X509Certificate> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false });
  const { promise, resolve, reject } = Promise.withResolvers<X509Certificate>();
  const cancel = () => reject(new Error('it did not answer in time'));
  signal.addEventListener('abort', cancel, { once: true });
  socket.once('error', reject);
  socket.once('secureConnect', () => {
    const certificate = socket.getPeerX509Certificate();
    if (certificate) resolve(certificate);
    else reject(new Error('it presented no certificate'));
  });
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', cancel);
    socket.destroy();
  }
}

async function send(
  { method, url, headers, body }: HttpsRequest,
  agent: Agent,
  signal: AbortSignal,
): Promise<HttpsAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpsAnswer>();
  const request = https.request(url, { method, headers, agent, signal }, response => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxAnswerBytes) request.destroy(new Error('its answer is too long'));
      else chunks.push(chunk);
    });
    response.once('error', reject);
    response.once('end', () =>
      resolve({
        status: response.statusCode ?? 0,
        type: response.headers['content-type'] ?? '',
        body: Buffer.concat(chunks).toString(),
      }),
    );
  });
  request.once('error', reject);
  // Node ends such a request with neither a response nor an error if nobody listens.
  request.once('upgrade', ({ statusCode }, socket) => {
    socket.destroy();
    reject(new Error(`it answered ${statusCode}`));
  });
  request.end(body);
  return await promise;
}
