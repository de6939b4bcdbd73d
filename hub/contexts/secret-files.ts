import { isSecretFileName, isSecretFolderName } from '#core';

const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/** True if a file or folder of this name never becomes part of an image, whatever .dockerignore says. */
export const isSecretFile = (name: string): boolean =>
  isSecretFileName(name) || isSecretFolderName(name);

/** True for a `.pem` file with a private key. A certificate alone is not a secret. */
export const holdsPrivateKey = (name: string, content: Buffer): boolean =>
  name.toLowerCase().endsWith('.pem') && privateKey.test(content.toString('latin1'));
