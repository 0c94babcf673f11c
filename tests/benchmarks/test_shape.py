"""Operations of the products, counted by hand."""

from benchmarks.side_by_side.shape import Shape, cfc_flops, gru_flops, lstm_flops, product_flops


def test_product():
    assert product_flops(2) == 16  # 4 elements, each 2 multiplications and 2 additions
    assert product_flops(1024) == 2_147_483_648


def test_cfc_of_one_sample():
    # D 1, H 2, U 3: forward 3x3 + 3x8 = 33 products of numbers. Gradients of the weights: 33 more. Gradients of the
    # arguments: 24 of the heads and, as nobody wants that of x, 2x3 of the backbone. 96 in all, an addition each.
    assert cfc_flops(Shape(1, 1, 1, 2, 3)) == 2 * 96


def test_cfc_with_two_layers_and_a_batch():
    # The second layer has 3x3 products, three times; B·T is 20.
    assert cfc_flops(Shape(4, 5, 1, 2, 3, layers=2)) == 20 * 2 * (96 + 27)


def test_the_papers_xor():
    # forward (1 + 192)·128 + 128·768 = 123,008; all 3·123,008 - 128 = 368,896; times 2·128·32
    assert cfc_flops(Shape(128, 32, 1, 192, 128)) == 8192 * 368_896


def test_lstm_and_gru():
    # D 1, H 2: 8x1 + 8x2 = 24 products forward, 24 for the weights, 16 for h; the GRU has three quarters of all.
    assert lstm_flops(Shape(1, 1, 1, 2)) == 2 * 64
    assert gru_flops(Shape(1, 1, 1, 2)) == 2 * 48


def test_shape_reads_like_the_tables():
    assert str(Shape(128, 200, 82, 256, 64, layers=2)) == "B128 T200 D82 H256 U64 ×2"
    assert str(Shape(128, 32, 16, 64, outputs=8)) == "B128 T32 D16 AutoNCP(64, 8)"
