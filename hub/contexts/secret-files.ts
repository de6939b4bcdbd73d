/** Names of files and folders that hold keys and passwords, in lower case. */
const secretNames =
  /^(?:\.env(?:\..*)?|\.envrc|\.npmrc|\.yarnrc\.yml|\.pypirc|\.netrc|_netrc|\.git-credentials|\.pgpass|\.htpasswd|id_(?:rsa|dsa|ecdsa|ed25519)|.*\.(?:key|p12|pfx|jks|keystore|kdbx|ppk)|\.ssh|\.aws|\.azure|\.gcloud|\.gnupg|\.kube)$/;
/** Templates of `.env`, which hold names of variables without values. */
const templates = /^\.env\.(?:example|sample|template|dist|defaults?)$/;
const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/** True if a file or folder of this name never becomes part of an image, whatever .dockerignore says. */
export const isSecretFile = (name: string): boolean => {
  const lower = name.toLowerCase();
  return secretNames.test(lower) && !templates.test(lower);
};

/** True for a `.pem` file with a private key. One with a certificate is no secret. */
export const holdsPrivateKey = (name: string, content: Buffer): boolean =>
  name.toLowerCase().endsWith('.pem') && privateKey.test(content.toString('latin1'));
