import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Paths of a certificate and its private key, in PEM. */
export type Certificate = { readonly certFile: string; readonly keyFile: string };

type Subject = {
  /** Common name of the certificate's subject. */
  readonly commonName?: string;
  /** Subject alternative names, as openssl writes them: `DNS:cursor,email:cursor@home.lan`. */
  readonly alternativeNames?: string;
  /** When the certificate becomes valid and when it expires; by default from an hour ago to in an hour. */
  readonly from?: Date;
  readonly to?: Date;
};

/** Makes certificates with openssl, in a folder that disposing removes. */
export function createCertificates() {
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-certificates-'));
  let made = 0;
  const openssl = (...words: readonly (readonly string[])[]) =>
    void execFileSync('openssl', words.flat(), { cwd: folder, stdio: 'ignore' });

  function filesOf(name: string): Certificate {
    return { certFile: join(folder, `${name}.pem`), keyFile: join(folder, `${name}.key`) };
  }

  /** Creates a certificate authority. */
  function createAuthority(name: string) {
    const own = filesOf(name);
    const state = join(folder, name);
    mkdirSync(state);
    // An EC key takes a tenth of the time of an RSA key.
    const request = ['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    openssl(
      request,
      ['-x509', '-days', '1', '-subj', `/CN=${name}`],
      ['-keyout', own.keyFile, '-out', own.certFile],
    );
    writeFileSync(join(state, 'index.txt'), '');
    writeFileSync(join(state, 'index.txt.attr'), 'unique_subject = no\n');

    /** Creates a certificate that the authority has signed. */
    function sign({ commonName, alternativeNames, from, to }: Subject): Certificate {
      const files = filesOf(`${name}-${++made}`);
      const signed = join(state, `${made}.csr`);
      const config = join(state, `${made}.cnf`);
      const lines = [
        '[ca]',
        'default_ca = own',
        '[own]',
        `database = ${join(state, 'index.txt')}`,
        `new_certs_dir = ${state}`,
        'default_md = sha256',
        'rand_serial = yes',
        'policy = any',
        'x509_extensions = extensions',
        '[any]',
        'commonName = optional',
        '[extensions]',
        'basicConstraints = CA:FALSE',
        ...(alternativeNames === undefined ? [] : [`subjectAltName = ${alternativeNames}`]),
      ];
      writeFileSync(config, lines.join('\n'));
      const subject = commonName === undefined ? '/' : `/CN=${commonName}`;
      openssl(request, ['-subj', subject, '-keyout', files.keyFile, '-out', signed]);
      const hour = 3_600_000;
      openssl(
        ['ca', '-batch', '-notext', '-config', config, '-in', signed, '-out', files.certFile],
        ['-cert', own.certFile, '-keyfile', own.keyFile],
        ['-startdate', dateOf(from ?? new Date(Date.now() - hour))],
        ['-enddate', dateOf(to ?? new Date(Date.now() + hour))],
      );
      return files;
    }
    return { ...own, sign };
  }

  return {
    folder,
    createAuthority,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

/** Reads a certificate and its key as the options `cert` and `key` of TLS clients. */
export const readCertificate = ({ certFile, keyFile }: Certificate) => ({
  cert: readFileSync(certFile, 'utf8'),
  key: readFileSync(keyFile, 'utf8'),
});

/** Formats a date for openssl: 20261123210000Z. */
const dateOf = (date: Date): string => date.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
