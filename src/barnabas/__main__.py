from barnabas.cli.main import main

main()
