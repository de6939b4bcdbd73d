import { readFile } from 'node:fs/promises';
import { HubError, messageOf } from '#core';

/** The certificate that this client presents to a hub, and its key, in PEM form. */
export type OwnCertificate = { readonly cert: Buffer; readonly key: Buffer };

/**
 * Reads the files in AGENTHUB_CLIENT_CERT and AGENTHUB_CLIENT_KEY; undefined if neither is set. Pass only the
 * process's environment, because a `.env` in the folder of a client must not choose its certificate. Rejects with
 * HUB_USAGE.
 */
export async function readOwnCertificate(
  env: Readonly<Record<string, string | undefined>>,
): Promise<OwnCertificate | undefined> {
  const { AGENTHUB_CLIENT_CERT: certFile, AGENTHUB_CLIENT_KEY: keyFile } = env;
  if (!certFile && !keyFile) return undefined;
  const [cert, key] = await Promise.all([
    readPem('AGENTHUB_CLIENT_CERT', certFile),
    readPem('AGENTHUB_CLIENT_KEY', keyFile),
  ]);
  const { createSecureContext } = await import('node:tls');
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    const files = `${JSON.stringify(certFile)} and ${JSON.stringify(keyFile)}`;
    const problem = `AGENTHUB_CLIENT_CERT and AGENTHUB_CLIENT_KEY: ${files} cannot be used together (${messageOf(cause)}). Write the PEM files of a certificate and its key, which has no passphrase`;
    throw new HubError('HUB_USAGE', problem, { cause });
  }
  return { cert, key };
}

async function readPem(variable: string, file: string | undefined): Promise<Buffer> {
  if (!file)
    throw new HubError(
      'HUB_USAGE',
      `${variable}: is not set, but a certificate needs its key. Set both or neither`,
    );
  try {
    return await readFile(file);
  } catch (cause) {
    const problem = `${variable}: ${JSON.stringify(file)} cannot be read (${messageOf(cause)})`;
    throw new HubError('HUB_USAGE', problem, { cause });
  }
}
