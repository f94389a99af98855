import type { NextConfig } from 'next'

const config: NextConfig = {
  // Loaded from node_modules, once per process. Bundled, every bundle would have a copy of its own.
  serverExternalPackages: ['tokenlib'],
}

export default config
