import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, totalmem, type } from 'node:os'

/** What a run is measured on. */
export function describeMachine() {
  const [cpu] = cpus()
  return {
    cpu: cpu?.model.trim() || `unnamed ${process.arch} processor`,
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    system: readSystem(),
    node: process.version,
  }
}

const PACKAGES = [
  'jose',
  'fast-jwt',
  'jsonwebtoken',
  'hono',
  '@hono/node-server',
  'fastify',
  '@fastify/jwt',
  'express',
  'express-jwt',
  'koa',
  '@koa/router',
  'koa-jwt',
  '@nestjs/core',
  '@nestjs/jwt',
  '@nestjs/passport',
  'passport-jwt',
  'ioredis',
]

/** The versions of everything that is measured beside this library. */
export function readVersions() {
  return Object.fromEntries(PACKAGES.map((name) => [name, readVersion(name)]))
}

// Not by `import`: not every package lets its package.json be imported.
function readVersion(name) {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? []
  for (const folder of folders) {
    try {
      return JSON.parse(readFileSync(`${folder}/${name}/package.json`, 'utf8')).version
    } catch {
      // Not in this folder.
    }
  }
  throw new Error(`${name} is not installed`)
}

function readSystem() {
  try {
    return /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? type()
  } catch {
    return type()
  }
}
