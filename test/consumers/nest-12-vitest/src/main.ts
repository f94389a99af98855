import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module.js'

async function bootstrap() {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] })
  await app.listen(0, '127.0.0.1')
  console.log(await app.getUrl())
}
void bootstrap()
