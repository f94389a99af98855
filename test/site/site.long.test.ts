import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serveFolder } from '../../site/serve-folder.js'
import { listEntryPoints } from '../../site/reference.js'
import { listExportedNames } from '../../scripts/gates/exported-names.js'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import { buildSite, findBrokenLinks, findForeignResources, listPages, SITE } from './built-site.js'

beforeAll(buildSite, 300_000)
