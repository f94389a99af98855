// The only package that is imported at run time, in a file of its own: it is published as an ES module only, so
// scripts/complete-build.js replaces this file in the CommonJS build by one that contains the package.
export { parseSetCookie, serialize } from 'cookie-es'
